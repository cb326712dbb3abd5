"""Verbs of memories: remember, list, get, evidence, correct, forget, erase, links, status, layers."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from engramdb.values import (
    Act,
    CorrectedMemory,
    Edge,
    EdgeType,
    Erasure,
    Filters,
    ForgottenMemory,
    HistoryEvent,
    Kind,
    Layer,
    Memory,
    MemoryType,
    Provenance,
    Source,
    Status,
    Support,
    Undone,
)
from engramdb.verbs.fields import (
    EXAMPLE_ID,
    Limit,
    MemoryName,
    Moment,
    OneMemory,
    OneMemoryWithReason,
    Session,
    Share,
    TargetLayer,
    Text,
    Why,
)
from engramdb.verbs.verb import (
    Command,
    Page,
    Request,
    Route,
    ScopedRequest,
    ScopeField,
    about,
    engine_method,
    verb,
    verb_of,
)

CHANGE = "See and change memories"
Reinstate = Annotated[bool, about("Let what it had superseded count again.")]
Reveal = Annotated[
    bool, about("Show secrets whole, to those who may see them; it is audited.", only=("cli", "http"))
]
MAX_STATEMENTS = 1000
"""Statements in one request; a writer with more sends several, and learns after each what is durable."""


class Statement(Request, frozen=True, kw_only=True):
    """One statement and what is known of it; labels that are not given are read from its words."""

    content: Annotated[Text, about("The statement, as one would say it.")]
    category: Annotated[str | None, about("The category, such as fact or preference.", metavar="NAME")] = None
    importance: Annotated[Share | None, about("The importance, from 0 to 1.")] = None
    confidence: Annotated[Share | None, about("The confidence, from 0 to 1.")] = None
    layer: Annotated[Layer | None, about("How long it is meant to live.", metavar="NAME")] = None
    type: Annotated[MemoryType | None, about("What it holds.", metavar="NAME")] = None
    kind: Annotated[
        Kind | None, about("Whether it happened once, or holds until replaced.", metavar="NAME")
    ] = None
    source: Annotated[
        Source | None,
        about(
            "Where it came from; where left out, who states it: human, or assistant for an agent.",
            metavar="NAME",
        ),
    ] = None
    speaker: Annotated[str | None, about("Who said it.", metavar="NAME")] = None
    session: Session | None = None
    occurred_at: Annotated[Moment | None, about("When it happened (ISO 8601).")] = None
    forget_after: Annotated[
        Moment | None,
        about("When it may go: a time, or on the command line 12h, 30d, 8w from now.", duration=True),
    ] = None
    pinned: Annotated[bool, about("Protect it from every automatic loss.")] = False


@verb(
    "remember",
    gives=Memory,
    writes=True,
    http=Route(method="POST", path="/v1/remember", tag="memories"),
    cli=Command(
        words="remember",
        section="Put in",
        examples=('remember "The API uses JWT tokens" --category fact --importance 0.8',),
        creates_store=True,
    ),
    mcp="remember",
    example={"content": "The API uses JWT tokens", "category": "fact", "importance": 0.8},
)
class RememberRequest(Statement, frozen=True, kw_only=True):
    """Store one statement; one that is already known becomes stronger."""

    scope: ScopeField = None


@verb(
    "remember_many",
    gives=list[Memory],
    writes=True,
    http=Route(method="POST", path="/v1/remember_many", tag="memories"),
    example={
        "statements": [
            {"content": "The API uses JWT tokens", "category": "fact"},
            {"content": "Maya is allergic to peanuts", "pinned": True},
        ]
    },
)
class RememberManyRequest(ScopedRequest, frozen=True, kw_only=True):
    """
    Store many statements and return each, in their order.

    One that is not valid is refused and ends it; those before it may be stored, and sending all of them again
    is harmless. What is inferred from the words of many follows in the background.
    """

    statements: Annotated[
        tuple[Statement, ...],
        Meta(min_length=1, max_length=MAX_STATEMENTS),
        about("The statements, stored in their order."),
    ]

    def call(self, engram: Any, **options: Any) -> Any:
        """Store the statements in the request's scope, else in the engine's own."""
        from engramdb.lifecycle.drafts import Draft  # noqa: PLC0415 - loads the whole write pipeline

        place = self.scope or engram.scope
        drafts = []
        for one in self.statements:
            given = one.arguments()
            given["source"] = given["source"] or engram.actor.own_source
            told = Provenance(**{name: given.pop(name) for name in ("source", "speaker", "session")})
            drafts.append(Draft(scope=place, provenance=told, **given))
        return list(engram.remember_many(drafts, **options))


@verb(
    "list",
    gives=list[Memory],
    writes=False,
    idempotent=True,
    http=Route(
        method="GET",
        path="/v1/memories",
        tag="memories",
        has_etag=True,
        refusals=frozenset({404}),
        page=Page(cursor="before", key="id"),
    ),
    cli=Command(words="list", section=CHANGE, examples=("list --limit 20 --category preference",)),
    mcp="list",
)
class ListRequest(ScopedRequest, frozen=True, kw_only=True):
    """Show memories, newest first."""

    limit: Limit = 50
    before: Annotated[
        str | None, about("Only those older than this memory; for the page that follows.", metavar="ID")
    ] = None
    filters: Annotated[Filters, about("What a memory must be to count.")] = Filters()
    as_of: Annotated[Moment | None, about("Those believed at this moment, as they were then.")] = None
    valid_at: Annotated[Moment | None, about("Those true at this moment.")] = None
    reveal: Reveal = False


@verb(
    "get",
    gives=Memory,
    writes=False,
    idempotent=True,
    http=Route(method="GET", path="/v1/memories/{id}", tag="memories", has_etag=True),
    cli=Command(words="get", section=CHANGE, examples=("get 3f2a9c1b",)),
    example={"id": EXAMPLE_ID},
)
class GetRequest(OneMemory, frozen=True, kw_only=True):
    """Show one memory with everything that is known about it."""

    reveal: Reveal = False


@verb(
    "history",
    gives=list[HistoryEvent],
    writes=False,
    idempotent=True,
    http=Route(
        method="GET",
        path="/v1/memories/{id}/history",
        tag="memories",
        has_etag=True,
        page=Page(cursor="after", cut="numbers"),
    ),
    cli=Command(words="history", section=CHANGE, examples=("history 3f2a9c1b",)),
    mcp="history",
    example={"id": EXAMPLE_ID},
)
class HistoryRequest(OneMemory, frozen=True, kw_only=True):
    """Show everything that happened to a memory, oldest first."""


@verb(
    "evidence",
    gives=Support,
    writes=False,
    idempotent=True,
    http=Route(method="GET", path="/v1/memories/{id}/evidence", tag="memories", has_etag=True),
    cli=Command(words="evidence", section=CHANGE, examples=("evidence 3f2a9c1b",)),
    example={"id": EXAMPLE_ID},
)
class EvidenceRequest(OneMemory, frozen=True, kw_only=True):
    """Show the other wordings that a memory stands for, and the turns they were said in."""


@verb(
    "links",
    gives=list[Edge],
    writes=False,
    idempotent=True,
    http=Route(
        method="GET",
        path="/v1/memories/{id}/links",
        tag="links",
        has_etag=True,
        page=Page(cursor="after", cut="fingerprints"),
    ),
    cli=Command(words="links", section=CHANGE, examples=("links 3f2a9c1b",)),
    example={"id": EXAMPLE_ID},
)
class LinksRequest(OneMemory, frozen=True, kw_only=True):
    """Show what a memory is linked to."""


@verb(
    "correct",
    gives=CorrectedMemory,
    writes=True,
    http=Route(method="POST", path="/v1/correct", tag="memories"),
    cli=Command(
        words="correct",
        section=CHANGE,
        examples=('correct 3f2a9c1b "The API uses session cookies" --reason "changed in May"',),
    ),
    mcp="correct",
    example={"id": EXAMPLE_ID, "content": "My editor is Helix", "reason": "switched"},
)
class CorrectRequest(OneMemoryWithReason, frozen=True, kw_only=True):
    """Replace a statement; the old one stays in the history."""

    content: Annotated[Text, about("The new statement.")]
    reinstate: Reinstate = False


RELATIONS = ("related_to", "supports", "contradicts", "caused_by", "instance_of")
"""The links that a person makes; the others are made by the engine."""


class UnlinkFields(OneMemoryWithReason, frozen=True, kw_only=True):
    """Which link between two memories is meant."""

    other: Annotated[
        str,
        about("The other memory, by its id or its last 8 characters.", metavar="OTHER", positional=True),
    ]
    type: Annotated[
        EdgeType,
        about(
            "What the first memory is to the other.",
            metavar="RELATION",
            options=("--as",),
            choices=RELATIONS,
        ),
    ] = EdgeType.RELATED_TO


@verb(
    "link",
    gives=Edge,
    writes=True,
    idempotent=True,
    http=Route(method="POST", path="/v1/link", tag="links", old_paths=("/v1/relate",)),
    cli=Command(
        words="link",
        section=CHANGE,
        examples=("link 3f2a9c1b 77d0e4a2 --as caused_by",),
        old_words=("relate",),
    ),
    mcp="link",
    example={"id": EXAMPLE_ID, "other": "5d2f3f2b", "type": "supports"},
)
class LinkRequest(UnlinkFields, frozen=True, kw_only=True):
    """Link a memory to another; linking again replaces the weight."""

    weight: Annotated[Share, about("How close they are, from 0 to 1.")] = 1.0


class Unlinked(Struct, frozen=True):
    """Whether there was such a link."""

    was_there: bool
    """Whether there was one to remove."""


@verb(
    "unlink",
    gives=Unlinked,
    writes=True,
    idempotent=True,
    http=Route(method="POST", path="/v1/unlink", tag="links", old_paths=("/v1/unrelate",)),
    cli=Command(
        words="unlink",
        section=CHANGE,
        examples=("unlink 3f2a9c1b 77d0e4a2 --as caused_by",),
        old_words=("unrelate",),
    ),
    example={"id": EXAMPLE_ID, "other": "5d2f3f2b", "type": "supports"},
)
class UnlinkRequest(UnlinkFields, frozen=True, kw_only=True):
    """Remove a link between two memories."""

    def call(self, engram: Any, **options: Any) -> Unlinked:
        """Remove the link and return whether it was there."""
        return Unlinked(engine_method(engram, verb_of(UnlinkRequest))(**self.arguments(), **options))


@verb(
    "forget",
    gives=ForgottenMemory,
    writes=True,
    idempotent=True,
    destructive=True,
    http=Route(method="POST", path="/v1/forget", tag="memories"),
    cli=Command(words="forget", section=CHANGE, examples=('forget 3f2a9c1b --reason "no longer true"',)),
    mcp="forget",
    example={"id": EXAMPLE_ID, "reason": "no longer true"},
)
class ForgetRequest(OneMemoryWithReason, frozen=True, kw_only=True):
    """
    Forget a memory: it is gone from every answer at once.

    `displaced` names what it had superseded.
    """

    reinstate: Reinstate = False


ActName = Annotated[
    str,
    about(
        "The act's id, or its last 8 characters, as `acts` shows it.",
        metavar="ACT",
        told={"examples": [EXAMPLE_ID]},
    ),
]


@verb(
    "undo",
    gives=Undone,
    writes=True,
    http=Route(method="POST", path="/v1/undo", tag="memories", refusals=frozenset({404, 409, 412})),
    cli=Command(
        words="undo",
        section=CHANGE,
        examples=("undo", "undo 3f2a9c1b", "undo --act 77d0e4a2 --with-later"),
    ),
    mcp="undo",
    example={"id": EXAMPLE_ID},
)
class UndoRequest(ScopedRequest, frozen=True, kw_only=True):
    """
    Undo what you did last, or what happened last to a memory, or an act by its id.

    All that followed from an act is undone with it: what it stored no longer holds, what it displaced holds
    again. Where later acts build on it, they are named and nothing is done. Undoing an undo puts everything
    back. What was erased stays erased.
    """

    id: Annotated[MemoryName | None, about("The memory; without one, what you did last.")] = None
    act: ActName | None = None
    with_later: Annotated[bool, about("First undo the later acts that build on it.")] = False
    reason: Why = ""


@verb(
    "acts",
    gives=list[Act],
    writes=False,
    http=Route(
        method="GET",
        path="/v1/acts",
        tag="memories",
        refusals=frozenset({404}),
        page=Page(cursor="before", key="id"),
    ),
    cli=Command(words="acts", section=CHANGE, examples=("acts --limit 10",)),
    mcp="acts",
)
class ActsRequest(ScopedRequest, frozen=True, kw_only=True):
    """Show what was done in a scope, newest first, with the ids that `undo` takes."""

    limit: Limit = 20
    before: Annotated[ActName | None, about("Only those before this act; for the page that follows.")] = None


@verb(
    "erase",
    gives=Erasure,
    writes=True,
    idempotent=True,
    destructive=True,
    http=Route(method="POST", path="/v1/erase", tag="memories", refusals=frozenset({404, 412})),
    cli=Command(
        words="erase",
        section=CHANGE,
        examples=(
            "erase 3f2a9c1b --dry-run",
            'erase --user discord:42 --reason "asked to be forgotten" --yes',
        ),
    ),
    example={"user": "discord:42", "reason": "asked to be forgotten", "dry_run": True},
)
class EraseRequest(ScopedRequest, frozen=True, kw_only=True):
    """
    Erase a memory with all that holds its words, or everything of a user. It cannot be undone.

    `dry_run` only counts what would go. `is_file_clean` says whether no byte is left in the store's file,
    `files` what was done with every other file that we wrote. `mentions` lists what else holds the words.
    """

    id: Annotated[MemoryName | None, about("The memory; without one, everything of the user.")] = None
    user: Annotated[
        str | None,
        about("The user, in every scope of that name inside this one.", metavar="NAME", only=("http",)),
    ] = None
    reason: Annotated[str, about("Why, for the audit.", metavar="TEXT")] = ""
    dry_run: Annotated[bool, about("Erase nothing and only count.")] = False
    mentions: Annotated[bool, about("Also erase what only mentions the words of the memory.")] = False


@verb(
    "pin",
    gives=Memory,
    writes=True,
    idempotent=True,
    http=Route(method="POST", path="/v1/pin", tag="life"),
    cli=Command(words="pin", section=CHANGE, examples=("pin 3f2a9c1b",)),
    mcp="pin",
    example={"id": EXAMPLE_ID},
)
class PinRequest(OneMemory, frozen=True, kw_only=True):
    """Protect a memory from every automatic loss."""


@verb(
    "unpin",
    gives=Memory,
    writes=True,
    idempotent=True,
    http=Route(method="POST", path="/v1/unpin", tag="life"),
    cli=Command(words="unpin", section=CHANGE, examples=("unpin 3f2a9c1b",)),
    example={"id": EXAMPLE_ID},
)
class UnpinRequest(OneMemory, frozen=True, kw_only=True):
    """Let a memory age again."""


@verb(
    "release",
    gives=Memory,
    writes=True,
    idempotent=True,
    http=Route(method="POST", path="/v1/release", tag="life", refusals=frozenset({409})),
    cli=Command(words="release", section=CHANGE, examples=('release 3f2a9c1b --reason "my own note"',)),
    example={"id": EXAMPLE_ID},
)
class ReleaseRequest(OneMemory, frozen=True, kw_only=True):
    """
    Let a memory that was held back into automatic windows.

    `engram list --flag quarantined` shows the imports that wait for it. Only a person may.
    """

    reason: Why = ""


@verb(
    "promote",
    gives=Memory,
    writes=True,
    http=Route(method="POST", path="/v1/promote", tag="life"),
    cli=Command(words="promote", section=CHANGE, examples=('promote 3f2a9c1b --reason "we rely on this"',)),
    mcp="promote",
    example={"id": EXAMPLE_ID},
)
class PromoteRequest(OneMemoryWithReason, frozen=True, kw_only=True):
    """Move a memory one layer up, from working to episodic to semantic, where rules leave it."""

    layer: TargetLayer | None = None


@verb(
    "demote",
    gives=Memory,
    writes=True,
    http=Route(method="POST", path="/v1/demote", tag="life"),
    cli=Command(words="demote", section=CHANGE, examples=("demote 3f2a9c1b --layer episodic",)),
    mcp="demote",
    example={"id": EXAMPLE_ID},
)
class DemoteRequest(OneMemoryWithReason, frozen=True, kw_only=True):
    """Move a memory one layer down, from semantic to episodic to working, where rules leave it."""

    layer: TargetLayer | None = None


@verb(
    "set_status",
    gives=Memory,
    writes=True,
    http=Route(method="POST", path="/v1/set_status", tag="life"),
    cli=Command(
        words="set-status",
        section=CHANGE,
        examples=('set-status 3f2a9c1b active --reason "it is true after all"',),
    ),
    mcp="set_status",
    example={"id": EXAMPLE_ID, "status": "archived", "reason": "the project is over"},
)
class SetStatusRequest(OneMemoryWithReason, frozen=True, kw_only=True):
    """
    Move a memory to another status, with a reason for its history.

    Bringing a memory back to `active` needs a reason.
    """

    status: Annotated[Status, about("The new status.", metavar="STATUS", positional=True)]
    reinstate: Reinstate = False


@verb(
    "restore",
    gives=Memory,
    writes=True,
    http=Route(method="POST", path="/v1/restore", tag="life"),
    cli=Command(words="restore", section=CHANGE, examples=('restore 3f2a9c1b --reason "still true"',)),
    mcp="restore",
    example={"id": EXAMPLE_ID, "reason": "she does"},
)
class RestoreRequest(OneMemoryWithReason, frozen=True, kw_only=True):
    """
    Let a memory count again that was removed or superseded.

    What was removed on purpose, only a person brings back.
    """
