"""Verbs of the store: status, doctor, audit, backup, rebuild, enrich, import of a text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta, Struct, field

from engramdb.values import (
    GLOBAL,
    Action,
    AuditEvent,
    Backup,
    DoctorReport,
    ImportKind,
    ImportOrigin,
    ImportReport,
    Outcome,
    Status,
    StatusReport,
)
from engramdb.verbs.fields import EXAMPLE_ID, BeforeNumber, Limit, Moment, OneMemory
from engramdb.verbs.verb import Command, Page, Request, Route, ScopedRequest, ScopeRule, about, verb

UPKEEP = "Look after the store"
FILE_NAME = r"^[A-Za-z0-9][A-Za-z0-9._ -]{0,99}$(?!\n)"
"""In Python `$` also stands before a last line break, which is none of a name."""


@verb(
    "status",
    gives=StatusReport,
    writes=False,
    idempotent=True,
    http=Route(method="GET", path="/v1/status", tag="state"),
    cli=Command(words="status", section=UPKEEP, examples=("status --store memory.db",)),
    mcp="status",
)
class StatusRequest(ScopedRequest, frozen=True, kw_only=True):
    """
    Show counts, sizes, what waits, what works and what fails, each with its age.

    In a scope, only counts of what it sees and what of that waits.
    """

    def call(self, engram: Any, **options: Any) -> StatusReport:
        """Look at the scope that is named or worked in, or at the whole store."""
        own = None if engram.scope == GLOBAL else engram.scope
        report: StatusReport = engram.status(scope=own if self.scope is None else self.scope, **options)
        return report


@verb(
    "doctor",
    gives=DoctorReport,
    writes=False,
    scope=ScopeRule.STORE,
    http=Route(method="GET", path="/v1/doctor", tag="state", computed=("ok",)),
    cli=Command(words="doctor", section=UPKEEP, examples=("doctor --fix", "doctor --salvage saved.db")),
)
class DoctorRequest(Request, frozen=True, kw_only=True):
    """
    Examine the store and its parts; with --fix, rebuild what is derived and wrong.

    With --salvage, save every row of a damaged store that can be read into a new one, and list what is lost.
    """

    fix: Annotated[bool, about("Rebuild what is derived and wrong.", only=("cli",))] = False
    salvage: Annotated[
        str | None, about("The new store to save readable rows into.", metavar="NEW", only=("cli",))
    ] = None


@verb(
    "audit",
    gives=list[AuditEvent],
    writes=False,
    idempotent=True,
    http=Route(
        method="GET", path="/v1/audit", tag="state", has_etag=True, page=Page(cursor="before", key="number")
    ),
    cli=Command(
        words="audit",
        section=UPKEEP,
        examples=("audit --limit 20", "audit --outcome denied --since 2026-05-01", "audit --actor cursor"),
    ),
)
class AuditRequest(ScopedRequest, frozen=True, kw_only=True):
    """
    Show who did what, newest first: writes, searches and denials.

    A row names the actor, its token, the scope and the outcome, and holds neither a memory's words nor a
    question's. A token with a scope sees what was done in that scope.
    """

    limit: Limit = 50
    before: BeforeNumber | None = None
    actor: Annotated[
        str | None, about("Only what was done by the one of this name.", metavar="NAME", engine="by")
    ] = None
    token: Annotated[str | None, about("Only what was done with the token of this id.", metavar="TOKEN")] = (
        None
    )
    action: Annotated[Action | None, about("Only this, such as recall.", metavar="NAME")] = None
    outcome: Annotated[Outcome | None, about("Only what was done, denied or failed.", metavar="NAME")] = None
    since: Annotated[Moment | None, about("Not earlier than this (ISO 8601).")] = None


class Enriched(Struct, frozen=True, kw_only=True):
    """How many memories were embedded, of how many the words were looked at, and what judging has changed."""

    embedded: int
    enriched: int
    judged: int = 0
    """How many were compared with what was known before them."""
    superseded: int = 0
    """How many were outdated by another one."""
    merged: int = 0
    """How many repeat another one and are its evidence now."""


@verb(
    "enrich",
    gives=Enriched,
    writes=True,
    idempotent=True,
    scope=ScopeRule.STORE,
    cli=Command(words="enrich", section=UPKEEP, examples=("enrich --store memory.db",)),
)
class EnrichRequest(Request, frozen=True, kw_only=True):
    """Do what waits: embed, infer people, technologies, feelings and topics from bulk, and judge it."""

    def call(self, engram: Any, **options: Any) -> Enriched:
        """Embed, infer, then judge."""
        embedded, enriched = engram.embed_pending(**options), engram.enrich(**options)
        before = engram.status().by_status
        judged = engram.judge_pending(**options)
        after = engram.status().by_status if judged else before
        return Enriched(
            embedded=embedded,
            enriched=enriched,
            judged=judged,
            superseded=after.get(Status.SUPERSEDED, 0) - before.get(Status.SUPERSEDED, 0),
            merged=after.get(Status.MERGED, 0) - before.get(Status.MERGED, 0),
        )


class Rebuilt(Struct, frozen=True):
    """How many memories the indexes were made from."""

    memories: int


@verb(
    "rebuild",
    gives=Rebuilt,
    writes=True,
    idempotent=True,
    scope=ScopeRule.STORE,
    cli=Command(words="rebuild", section=UPKEEP, examples=("rebuild --store memory.db",)),
)
class RebuildRequest(Request, frozen=True, kw_only=True):
    """Rebuild the text and vector indexes from the memories."""

    def call(self, engram: Any, **options: Any) -> Rebuilt:
        """Rebuild and count."""
        return Rebuilt(engram.rebuild(**options))


@verb(
    "backup",
    gives=Backup,
    writes=True,
    scope=ScopeRule.STORE,
    cli=Command(words="backup", section=UPKEEP, examples=("backup", "backup ~/memory-$(date +%F).db")),
)
class BackupRequest(Request, frozen=True, kw_only=True):
    """
    Write a whole copy of the store, verified, while others go on using it.

    Without a path it goes to the folder of backups beside the store. `engram restore-backup` goes back to it.
    """

    path: Annotated[
        str | None, about("The file to write; nothing may be there.", metavar="PATH", positional=True)
    ] = None


@verb(
    "import_text",
    gives=ImportReport,
    writes=True,
    idempotent=True,
    http=Route(method="POST", path="/v1/import", tag="memories"),
    example={
        "name": "notes.md",
        "text": "# Kitchen\n\nMaya is allergic to peanuts.\n",
        "kind": "markdown",
        "dry_run": True,
    },
)
class ImportTextRequest(ScopedRequest, frozen=True, kw_only=True):
    """
    Import a text file that another program wrote; importing it twice adds nothing.

    A record that cannot be imported is named by its place.
    """

    name: Annotated[
        str,
        Meta(pattern=FILE_NAME),
        about("The name of the file, such as `notes.md`; the same name means the same source next time."),
    ]
    text: Annotated[
        str,
        about("Its content. A zip archive, a PDF or more than a request can carry is for `engram import`."),
    ]
    kind: Annotated[
        ImportKind | None, about("Which program wrote it; told from the content where left out.")
    ] = None
    mapping: Annotated[
        Mapping[str, str],
        about('The columns of a table by the fields they fill, such as {"content": "text"}.'),
    ] = field(default_factory=dict)
    dry_run: Annotated[bool, about("Import nothing and only count.")] = False


@verb(
    "imported_from",
    gives=ImportOrigin | None,
    writes=False,
    idempotent=True,
    http=Route(method="GET", path="/v1/memories/{id}/origin", tag="memories"),
    example={"id": EXAMPLE_ID},
)
class ImportedFromRequest(OneMemory, frozen=True, kw_only=True):
    """Show the file that a memory was imported from, if it was."""
