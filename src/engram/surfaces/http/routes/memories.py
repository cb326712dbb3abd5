"""
The routes of memories: state, correct, forget, erase, import; list, get, and what happened to one.

Built by `api_routes` around one engine. A route parses, makes one engine call and answers with the engine's
value; errors travel on to `failures`. Plain functions, so that the framework runs them in worker threads.
"""

import tempfile
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Annotated

from fastapi import Path, Query
from starlette.requests import Request
from starlette.responses import Response

from engram.errors import InvalidQuery
from engram.surfaces.http import paging
from engram.surfaces.http.bodies.memories import (
    CorrectBody,
    EraseBody,
    ForgetBody,
    ImportBody,
    RememberBody,
    RememberManyBody,
)
from engram.surfaces.http.bodies.shared import EXAMPLE_ID
from engram.surfaces.http.parameters import ListParameters, PageParameters, ScopeParameters
from engram.surfaces.http.replies import reply, reply_memory, reply_read
from engram.surfaces.http.routes.conditions import IfMatch, IfNoneMatch, meant
from engram.surfaces.http.routes.family import PREFIX, Family
from engram.values import Erasure, HistoryEvent, ImportOrigin, ImportReport, Memory

if TYPE_CHECKING:
    from engram.engine.engram import Engram

MemoryName = Annotated[
    str, Path(description="The memory's id, or its last 8 characters.", examples=[EXAMPLE_ID])
]
ABSENT = frozenset({404})
"""There may be no such memory."""
CHANGED = frozenset({404, 412})
"""There may be no such memory, or another one than the caller thinks."""
ONE = CHANGED | {409}
"""And it may be one that this cannot be done to."""


def memory_routes(engram: "Engram") -> Family:
    """Return the routes that read and write memories."""
    family = Family("memories")

    @family.write("/remember", gives=Memory, is_tagged=True)
    def remember(body: RememberBody) -> Response:
        """Store one statement and return the Memory; one that is already known becomes stronger."""
        return reply_memory(engram.remember(body.content, scope=body.chosen_scope(), **body.options()))

    @family.write("/remember_many", gives=list[Memory])
    def remember_many(body: RememberManyBody) -> Response:
        """
        Store many statements and return each as a Memory, in their order.

        One that is not valid is refused and ends it; those before it may be stored, and sending all of them
        again is harmless. What is inferred from the words of many follows in the background.
        """
        scope = body.chosen_scope() or engram.scope
        return reply(list(engram.remember_many(one.draft(scope) for one in body.statements)))

    @family.write("/correct", gives=Memory, refusals=ONE, is_tagged=True)
    def correct(body: CorrectBody, if_match: IfMatch = None) -> Response:
        """Put a new statement in the place of an old one and return the new Memory."""
        place = body.chosen_scope()
        aim = meant(engram, body.id, if_match, place)
        return reply_memory(engram.correct(**aim, content=body.content, reason=body.reason, scope=place))

    @family.write("/forget", gives=Memory, refusals=ONE, is_tagged=True)
    def forget(body: ForgetBody, if_match: IfMatch = None) -> Response:
        """Take a memory out of every index and return the Memory as it is now."""
        place = body.chosen_scope()
        aim = meant(engram, body.id, if_match, place)
        return reply_memory(engram.forget(**aim, reason=body.reason, scope=place))

    @family.write("/erase", gives=Erasure, refusals=CHANGED)
    def erase(body: EraseBody, if_match: IfMatch = None) -> Response:
        """
        Take a memory, or everything of a user, out of the file for good and return an Erasure.

        Nobody can undo it; `dry_run` only counts what would go. `is_file_clean` says whether no byte is left.
        """
        if body.id is None and if_match is not None:
            raise InvalidQuery("If-Match is for one memory, and not for all of a user", hint="Leave it out.")
        place = body.chosen_scope()
        return reply(
            engram.erase(
                body.id,
                user=body.user,
                reason=body.reason,
                dry_run=body.dry_run,
                if_still=None if body.id is None else meant(engram, body.id, if_match, place)["if_still"],
                scope=place,
            )
        )

    @family.write("/import", gives=ImportReport)
    def import_text(body: ImportBody) -> Response:
        """
        Take in a text file that another program wrote and return an ImportReport; twice adds nothing.

        A record that cannot be taken in is named by its place. `dry_run` only counts.
        """
        with tempfile.TemporaryDirectory(prefix="engram-") as folder:
            file = FilePath(folder) / body.name
            file.write_text(body.text, encoding="utf-8", newline="")
            return reply(
                engram.import_from(
                    file,
                    kind=body.kind,
                    mapping=body.mapping,
                    dry_run=body.dry_run,
                    scope=body.chosen_scope(),
                )
            )

    family.join(_reading(engram))
    return family


def _reading(engram: "Engram") -> Family:
    """Return the routes that only look."""
    family = Family("memories", prefix=f"{PREFIX}/memories")

    @family.read("", gives=list[Memory], takes=ListParameters, refusals=ABSENT, is_paged=True)
    def list_memories(
        request: Request, asked: Annotated[ListParameters, Query()], if_none_match: IfNoneMatch = None
    ) -> Response:
        """Return a list of Memory, newest first; `before` a memory's id gives the page after it."""
        found = engram.list(
            limit=paging.ahead(asked.limit),
            before=asked.before,
            filters=asked.filters(),
            scope=asked.chosen_scope(),
        )
        cut = paging.shown(found, lambda one: one.id, limit=asked.limit)
        following = paging.address(request, before=cut.following)
        return reply_read(cut.entries, known=if_none_match, following=following)

    @family.read("/{memory_id}", gives=Memory, takes=ScopeParameters, refusals=ABSENT, is_tagged=True)
    def get(
        memory_id: MemoryName,
        asked: Annotated[ScopeParameters, Query()],
        if_none_match: IfNoneMatch = None,
    ) -> Response:
        """Return one Memory by its id or the last eight characters of it."""
        return reply_memory(engram.get(memory_id, scope=asked.chosen_scope()), known=if_none_match)

    @family.read(
        "/{memory_id}/history",
        gives=list[HistoryEvent],
        takes=PageParameters,
        refusals=ABSENT,
        is_paged=True,
    )
    def history(
        request: Request,
        memory_id: MemoryName,
        asked: Annotated[PageParameters, Query()],
        if_none_match: IfNoneMatch = None,
    ) -> Response:
        """Return a list of HistoryEvent: everything that happened to a memory, oldest first."""
        events = engram.history(memory_id, scope=asked.chosen_scope())
        cut = paging.page(events, paging.numbers(events), limit=asked.limit, behind=asked.after)
        following = paging.address(request, after=cut.following)
        return reply_read(cut.entries, known=if_none_match, following=following)

    @family.read("/{memory_id}/origin", gives=ImportOrigin | None, takes=ScopeParameters, refusals=ABSENT)
    def imported_from(memory_id: MemoryName, asked: Annotated[ScopeParameters, Query()]) -> Response:
        """Return the ImportOrigin of a memory: the file that it was imported from; null for any other."""
        return reply(engram.imported_from(memory_id, scope=asked.chosen_scope()))

    return family
