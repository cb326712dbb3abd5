"""
The routes that tell how the server and the store fare: health, status, doctor, audit.

Built by `api_routes` around one engine. All of them look at the whole store, and none shows a memory's words.
What repairs or rebuilds a store is for whoever sits at the machine: `engram doctor --fix`, `engram rebuild`.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from engram import __version__
from engram.errors import AccessDenied, EngramError
from engram.surfaces.http import paging
from engram.surfaces.http.parameters import RecordParameters
from engram.surfaces.http.replies import reply, reply_read, reply_with
from engram.surfaces.http.routes.conditions import IfNoneMatch
from engram.surfaces.http.routes.family import PREFIX, Family, With
from engram.values import AuditEvent, DoctorReport, StatusReport

if TYPE_CHECKING:
    from engram.engine.engram import Engram


@dataclass(frozen=True, slots=True)
class Failing:
    """A part that does not work, and why."""

    name: str
    failure: str


@dataclass(frozen=True, slots=True)
class Health:
    """Whether all is well."""

    status: str
    """`ok` or `degraded`."""
    version: str
    """The server's."""
    failing: tuple[Failing, ...] = ()
    """What does not work."""


def state_routes(engram: "Engram") -> Family:
    """Return the routes that tell how the server and the store fare."""
    family = Family("state", prefix="")

    @family.read("/health", gives=Health, otherwise={503: Health})
    def health() -> Response:
        """Return `ok` or `degraded`, the version and what fails; 503 when the store does not answer."""
        try:
            report = engram.status()
        except AccessDenied:
            raise  # the caller may not know, which says nothing of the store
        except EngramError as exc:
            down = Failing("store", f"{exc.code} {exc.message}")
            return reply(Health("degraded", __version__, (down,)), status=503)
        failing = tuple(Failing(part.name, part.failure or "") for part in report.parts if part.is_failing)
        return reply(Health("degraded" if failing else "ok", __version__, failing))

    @family.read(f"{PREFIX}/status", gives=StatusReport)
    def status() -> Response:
        """Return a StatusReport: counts, sizes, what waits, what fails."""
        return reply(engram.status())

    @family.read(f"{PREFIX}/doctor", gives=With(DoctorReport, ("ok",)))
    def doctor() -> Response:
        """Examine the store, change nothing, and return a DoctorReport; `ok` sums it up."""
        return reply_with(engram.doctor(), "ok")

    @family.read(
        f"{PREFIX}/audit",
        gives=list[AuditEvent],
        takes=RecordParameters,
        is_paged=True,
    )
    def audit(
        request: Request, asked: Annotated[RecordParameters, Query()], if_none_match: IfNoneMatch = None
    ) -> Response:
        """
        Return a list of AuditEvent: who did what, newest first; ids, counts and reasons, no memory's words.

        `Link` leads to earlier ones.
        """
        found = engram.audit(limit=paging.ahead(asked.limit), before=paging.number(asked.before))
        cut = paging.shown(found, lambda one: one.number, limit=asked.limit)
        following = paging.address(request, before=cut.following)
        return reply_read(cut.entries, known=if_none_match, following=following)

    return family
