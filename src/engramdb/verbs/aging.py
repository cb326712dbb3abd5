"""Verbs of aging: age, forecast, compare policies."""

from __future__ import annotations

from typing import Annotated, Any

from engramdb.errors import InvalidQuery
from engramdb.values import AgeReport, Census, Forecast
from engramdb.verbs.fields import MemoryName
from engramdb.verbs.verb import Command, Request, Route, ScopedRequest, ScopeRule, about, verb

TIME = "Let time pass"


@verb(
    "age",
    gives=AgeReport,
    writes=True,
    scope=ScopeRule.STORE,
    http=Route(method="POST", path="/v1/age", tag="life"),
    cli=Command(words="age", section=TIME, examples=("age --dry-run",)),
    example={"dry_run": True},
)
class AgeRequest(Request, frozen=True, kw_only=True):
    """Let the whole store age once: layers change, and what is due by a rule leaves."""

    dry_run: Annotated[bool, about("Only tell what would be done.")] = False


@verb(
    "forecast",
    gives=Forecast,
    writes=False,
    idempotent=True,
    http=Route(method="GET", path="/v1/forecast", tag="life"),
    cli=Command(words="forecast", section=TIME, examples=("forecast --days 90 --plot forecast.png",)),
)
class ForecastRequest(ScopedRequest, frozen=True, kw_only=True):
    """Say what will fade, move and leave if nothing happens, and what one more recall would change."""

    id: Annotated[MemoryName | None, about("One memory, by its id or its last 8 characters.")] = None
    days: Annotated[float, about("How many days ahead.", metavar="N")] = 365
    everywhere: Annotated[bool, about("Count all scopes; shows numbers and no memory.")] = False

    def arguments(self) -> dict[str, Any]:
        """Return what the engine takes; raises where everything and one memory are asked for at once."""
        if self.id is not None and self.everywhere:
            raise InvalidQuery("everywhere counts all memories and shows none", hint="Leave out the id.")
        return super().arguments()


@verb(
    "compare_policies",
    gives=dict[str, list[Census]],
    writes=False,
    idempotent=True,
    http=Route(method="GET", path="/v1/policies/compare", tag="life"),
    cli=Command(
        words="policy compare",
        section="Settings",
        examples=("policy compare --days 30 --days 365 --plot kept.svg",),
    ),
)
class ComparePoliciesRequest(ScopedRequest, frozen=True, kw_only=True):
    """Show what each preset would keep of this store, if nothing happens."""

    days: Annotated[tuple[float, ...], about("After this many days (repeatable).", metavar="N")] = (
        30,
        90,
        365,
    )
    everywhere: Annotated[bool, about("Count all scopes.")] = False
