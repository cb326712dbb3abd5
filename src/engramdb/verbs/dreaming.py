"""Verbs of the dream: dream, dreams, unmerge."""

from __future__ import annotations

from typing import Annotated

from engramdb.values import DreamReport, Memory
from engramdb.verbs.fields import EXAMPLE_ID, BeforeNumber, Limit, OneMemoryWithReason
from engramdb.verbs.verb import Command, Page, Route, ScopedRequest, about, verb

TIME = "Let time pass"


@verb(
    "dream",
    gives=DreamReport,
    writes=True,
    destructive=True,
    http=Route(method="POST", path="/v1/dream", tag="dream", computed=("changed",)),
    cli=Command(words="dream", section=TIME, examples=("dream --dry-run",)),
    mcp="dream",
    example={"dry_run": True, "steps": ["merge", "gaps"]},
)
class DreamRequest(ScopedRequest, frozen=True, kw_only=True):
    """
    Consolidate memories once: merge, settle contradictions, conclude, connect, ask.

    In a scope, exactly that scope; otherwise the whole store.

    It may take a while: one dream at a time, beside everything else, and an interrupted one goes on where it
    stopped. `changed` counts what it did.
    """

    dry_run: Annotated[bool, about("Only tell what would be done.")] = False
    steps: Annotated[
        tuple[str, ...] | None,
        about("Only this step (repeatable); all of them where left out.", metavar="NAME"),
    ] = None


@verb(
    "dreams",
    gives=list[DreamReport],
    writes=False,
    idempotent=True,
    http=Route(
        method="GET",
        path="/v1/dreams",
        tag="dream",
        has_etag=True,
        page=Page(cursor="before", key="number"),
    ),
    cli=Command(words="dreams", section=TIME, examples=("dreams --limit 3",)),
)
class DreamsRequest(ScopedRequest, frozen=True, kw_only=True):
    """Show the latest dreams, newest first: when, how long, how much they changed, what failed."""

    limit: Annotated[Limit, about(default=10)] = 50
    before: BeforeNumber | None = None


@verb(
    "unmerge",
    gives=list[Memory],
    writes=True,
    http=Route(method="POST", path="/v1/unmerge", tag="dream"),
    cli=Command(words="unmerge", section=TIME, examples=('unmerge 3f2a9c1b --reason "two different cups"',)),
    example={"id": EXAMPLE_ID, "reason": "these are two"},
)
class UnmergeRequest(OneMemoryWithReason, frozen=True, kw_only=True):
    """Take apart what a dream or a judge merged into a memory, or the memory from what it was merged into."""
