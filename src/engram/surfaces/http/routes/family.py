"""
Make the routes of one family: a tag, its reads and its writes, and what the description says of each.

Used by the other files here. A read is a GET that changes nothing but the count of recalls, a write a POST
with a JSON body. What the address must not hold is refused before the route runs: a parameter that is given
twice where it means one thing, and any parameter at all beside a body, where it would be passed over.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

from fastapi import APIRouter, Depends
from starlette.requests import Request  # noqa: TC002 - FastAPI reads the annotation
from starlette.responses import Response

from engram.errors import InvalidQuery
from engram.surfaces.http.parameters import Nothing, repeatable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from engram.surfaces.http.bodies.shared import Body

PREFIX: Final = "/v1"
_Route = TypeVar("_Route", bound="Callable[..., Response]")


@dataclass(frozen=True, slots=True)
class With:
    """A value whose answer also holds what it computes under some names."""

    value: type
    computed: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What the description says of a route beside its parameters and its body."""

    gives: Any
    """The type of the answer."""
    otherwise: Mapping[int, Any] = field(default_factory=dict)
    """The types of answers with another status than 200 that are no errors."""
    refusals: frozenset[int] = frozenset()
    """The statuses of errors that not every route has."""
    is_write: bool = False
    is_paged: bool = False
    """Whether a `Link` leads to the page that follows."""
    is_tagged: bool = False
    """Whether the answer has an ETag."""


class Family:
    """A group of routes that the description shows together."""

    def __init__(self, tag: str, *, prefix: str = PREFIX) -> None:
        self.router = APIRouter(prefix=prefix, default_response_class=Response)
        self.told: dict[str, Told] = {}
        """What is told of each route, by the name of its function, which is its operation id."""
        self._tag = tag

    def join(self, other: Family) -> None:
        """Take in the routes of another family as they are; to include them would build each anew."""
        self.router.routes.extend(other.router.routes)
        self.told |= other.told

    def read(
        self,
        path: str,
        *,
        gives: Any,
        takes: type[Body] = Nothing,
        otherwise: Mapping[int, Any] | None = None,
        refusals: frozenset[int] = frozenset(),
        is_paged: bool = False,
        is_tagged: bool = False,
    ) -> Callable[[_Route], _Route]:
        """Return the decorator of a GET that takes these parameters."""
        told = Told(
            gives=gives,
            otherwise=otherwise or {},
            refusals=refusals,
            is_paged=is_paged,
            is_tagged=is_tagged or is_paged,
        )
        return self._route("GET", path, told, Depends(_once(takes)))

    def write(
        self,
        path: str,
        *,
        gives: Any,
        refusals: frozenset[int] = frozenset(),
        is_tagged: bool = False,
    ) -> Callable[[_Route], _Route]:
        """Return the decorator of a POST."""
        told = Told(gives=gives, refusals=refusals, is_write=True, is_tagged=is_tagged)
        return self._route("POST", path, told, Depends(_nothing_beside))

    def _route(self, method: str, path: str, told: Told, check: Any) -> Callable[[_Route], _Route]:
        def add(route: _Route) -> _Route:
            name = route.__name__
            self.told[name] = told
            self.router.add_api_route(
                path, route, methods=[method], tags=[self._tag], operation_id=name, dependencies=[check]
            )
            return route

        return add


def _once(takes: type[Body]) -> Callable[[Request], None]:
    """Return the check that what means one thing is given once, and that nothing unknown is."""
    known = {one.alias or name for name, one in takes.model_fields.items()}
    many = repeatable(takes)

    def check(request: Request) -> None:
        given = Counter(name for name, _ in request.query_params.multi_items())
        if twice := sorted(name for name, times in given.items() if times > 1 and name in known - many):
            raise InvalidQuery(f"{twice[0]} is given {given[twice[0]]} times", hint="Give it once.")
        if takes is Nothing and given:
            raise InvalidQuery(f"{min(given)[:40]!r} is no parameter here", hint="This takes none.")

    return check


def _nothing_beside(request: Request) -> None:
    """Refuse parameters beside a body: a `dry_run` in the address must not turn into the real thing."""
    if request.url.query:
        raise InvalidQuery("a POST takes everything in its body", hint="Move the parameters there.")
