"""
The page and its sign-in: remember a sentence, ask, give feedback, look at what is there, forget, undo.

A form that changed something answers with a redirect, so that going back or reloading repeats nothing; one
that failed shows the page again with the error in words and the text still in its field. Asking is a plain
GET, so an answer can be reloaded and linked to.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from msgspec import Struct
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request as HttpRequest
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.staticfiles import StaticFiles

from engramdb import __version__
from engramdb.engine.engram import Engram
from engramdb.errors import AccessDenied, EngramError, InvalidContent, InvalidQuery
from engramdb.text.dates import readable
from engramdb.text.marks import belief_mark
from engramdb.values import Recall
from engramdb.values.query import RECALL_LIMIT
from engramdb.verbs import wording
from engramdb.verbs.errors import answer_for
from engramdb.verbs.sample_life import is_empty, load_sample_life
from engramdb.verbs.wording import hidden_scope

_HERE: Final = Path(__file__).parent
_MAX_RECENT: Final = 20
_ANOTHER_SCOPE: Final = "engram serve --user NAME (or --project and so on) shows them"
_VERDICTS: Final = {"yes": True, "no": False}
NOTICES: Final = {
    "remembered": "Remembered.",
    "returned": "Remembered. You had asked to forget this; from now on it counts again.",
    "strengthened": "That was known already; it is stronger now.",
    "forgotten": "Forgotten. No answer will use it any more.",
    "undone": "Undone. Everything is as before.",
    "helped": "Noted: it helped.",
    "sample": "Loaded: what Mira said in the last weeks. Ask where her sister lives, or who leads Falcon.",
    "unhelpful": "Noted. Such questions will not find it for a while; others still do.",
}
"""What the page says after a redirect, by the word in its address; any other word says nothing."""


class PageVisit(Struct, frozen=True, kw_only=True):
    """What one visit to the page is about."""

    question: str = ""
    day: str = ""
    """The date as of which the question is asked, as it came; without one it is asked now."""
    draft: str = ""
    note: str = ""
    undo: str = ""
    """The memory that was just changed: what was done to it last can be undone."""
    before: str | None = None
    error: EngramError | None = None


def sign_in_page(*, is_wrong: bool) -> str:
    """Return the form for a visitor without a token, or with one that `is_wrong`."""
    return _sign_in_template().render(is_wrong=is_wrong, version=__version__)


@cache
def _sign_in_template() -> Template:
    return _environment().get_template("sign_in.html")


def _environment() -> Environment:
    loader = FileSystemLoader(_HERE / "templates")
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined)


def static_files() -> StaticFiles:
    """Return the style sheet and the icon."""
    return StaticFiles(directory=_HERE / "static")


def page_routes(engram: Engram) -> list[Route]:
    """Return the page and the forms on it; none of them belongs to the API."""
    page = WebPage(engram)
    return [
        Route("/", page.show, methods=["GET"]),
        Route("/remember", page.endpoint(page.remember), methods=["POST"]),
        Route("/sample", page.endpoint(page.load_sample), methods=["POST"]),
        Route("/forget", page.endpoint(page.forget), methods=["POST"]),
        Route("/undo", page.endpoint(page.undo), methods=["POST"]),
        Route("/feedback", page.endpoint(page.feedback), methods=["POST"]),
    ]


class PageForm(Struct, frozen=True):
    """What a form has sent; a field that is not there is empty."""

    sent: Mapping[str, str]

    def __getitem__(self, name: str) -> str:
        """Return the value of a field."""
        return self.sent.get(name, "")


class WebPage:
    """The page and its forms."""

    def __init__(self, engram: Engram) -> None:
        self._engram = engram
        self._render = PageRenderer(engram)
        self._loading = threading.Lock()

    def endpoint(self, act: Callable[[PageForm], Response]) -> Callable[[HttpRequest], Awaitable[Response]]:
        """Return an endpoint that reads a form and acts on it in a worker thread."""

        async def answer(request: HttpRequest) -> Response:
            body = await request.body()
            sent = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True)
            return await run_in_threadpool(act, PageForm(dict(sent)))

        return answer

    def show(self, request: HttpRequest) -> Response:
        """Show the page, with the answer where there is a question."""
        asked = PageForm(dict(request.query_params))
        return self._render(
            PageVisit(
                question=asked["q"],
                day=asked["as_of"].strip(),
                note=NOTICES.get(asked["note"], ""),
                undo=asked["undo"],
                before=asked["before"] or None,
            )
        )

    def remember(self, form: PageForm) -> Response:
        """Store what was written."""
        try:
            memory = self._engram.remember(form["content"])
        except EngramError as exc:
            return self._render(PageVisit(draft=form["content"], error=exc))
        if memory.forgotten_before:
            return _back(note="returned", undo=memory.id)
        return _back(note="strengthened" if memory.reinforcements else "remembered", undo=memory.id)

    def load_sample(self, _form: PageForm) -> Response:
        """Fill an empty store with the sample life of `engram demo`."""
        try:
            with self._loading:  # a second click waits, and finds the store filled
                load_sample_life(self._engram, now=datetime.now(UTC))
        except EngramError as exc:
            return self._render(PageVisit(error=exc))
        return _back(note="sample")

    def forget(self, form: PageForm) -> Response:
        """Forget one memory and return to the question."""
        try:
            self._engram.forget(form["id"], reason="forgotten on the page")
        except EngramError as exc:
            return self._render(PageVisit(question=form["q"], error=exc))
        return _back(note="forgotten", q=form["q"], undo=form["id"])

    def undo(self, form: PageForm) -> Response:
        """Undo what was done last to a memory, and return to the question."""
        try:
            self._engram.undo(form["id"], reason="undone on the page")
        except EngramError as exc:
            return self._render(PageVisit(question=form["q"], error=exc))
        return _back(note="undone", q=form["q"])

    def feedback(self, form: PageForm) -> Response:
        """Note whether a memory helped with the question, and return to it."""
        try:
            is_helpful = _verdict(form["helpful"])
            self._engram.feedback(form["id"], helpful=is_helpful, query=form["q"].strip() or None)
        except EngramError as exc:
            return self._render(PageVisit(question=form["q"], error=exc))
        return _back(note="helped" if is_helpful else "unhelpful", q=form["q"], undo=form["id"])


class PageRenderer:
    """Fills the template with what the engine says."""

    def __init__(self, engram: Engram) -> None:
        self._engram = engram
        environment = _environment()
        environment.filters |= {
            "minute": _minute,
            "day": _day,
            "readable": readable,
            "belief_mark": belief_mark,
            "found_by": wording.phrase,
            "signal_words": wording.words,
            "speaker_of": wording.speaker_of,
        }
        self._template = environment.get_template("page.html")

    def __call__(self, visit: PageVisit) -> Response:
        """Return the page; where the engine fails on the way, the page says so."""
        error, answer, listed = visit.error, None, PageList()
        try:
            listed = self._listed(visit.before)
            answer = self._answer(visit)
        except EngramError as exc:
            error = error or exc
        body = self._template.render(
            visit=visit,
            answer=answer,
            listed=listed,
            error=error,
            version=__version__,
            scope=str(self._engram.scope),
        )
        return HTMLResponse(body, status_code=answer_for(error).http_status if error else 200)

    def _answer(self, visit: PageVisit) -> Recall | None:
        if not visit.question.strip():
            return None
        as_of = _end_of(visit.day) if visit.day else None
        return self._engram.recall(visit.question, limit=RECALL_LIMIT, as_of=as_of)

    def _listed(self, before: str | None) -> PageList:
        found = list(self._engram.list(limit=_MAX_RECENT + 1, before=before))
        is_more = len(found) > _MAX_RECENT
        return PageList(
            memories=found[:_MAX_RECENT],
            is_more=is_more,
            advice=self._advice(),
            can_load_sample=not found and before is None and is_empty(self._engram),
        )

    def _advice(self) -> tuple[str, ...]:
        """Return what the engine advises, where this visitor may look at the whole store."""
        try:
            report = self._engram.status()
        except AccessDenied:
            return ()
        hidden = hidden_scope(report.by_scope, self._engram.scope)
        if hidden is None:
            return report.advice
        return (*report.advice, f"Other scopes hold memories, such as {hidden}: {_ANOTHER_SCOPE}")


class PageList(Struct, frozen=True, kw_only=True):
    """The recent memories, whether there are older ones, and what the engine advises."""

    memories: Any = ()
    is_more: bool = False
    advice: tuple[str, ...] = ()
    can_load_sample: bool = False


def _back(**parameters: str) -> Response:
    """Return a redirect to the page, 303 so that the browser asks for it with GET."""
    query = urlencode({name: value for name, value in parameters.items() if value})
    return RedirectResponse(f"/?{query}", status_code=303)


def _minute(moment: datetime) -> str:
    return f"{moment:%d %b %Y, %H:%M} UTC"


def _day(moment: datetime) -> str:
    return f"{moment:%d %b %Y}"


def _end_of(day: str) -> datetime:
    """Return the end of a day (UTC): a date means everything that was known on it."""
    try:
        return datetime.combine(date.fromisoformat(day), time(), tzinfo=UTC) + timedelta(days=1)
    except (ValueError, OverflowError) as exc:
        raise InvalidQuery(f"{day[:40]!r} is not a date", hint="Write it as 2026-05-08.") from exc


def _verdict(helpful: str) -> bool:
    """Return whether it helped; silence is no answer."""
    if helpful not in _VERDICTS:
        raise InvalidContent("whether it helped is not said", hint="Press one of the two buttons.")
    return _VERDICTS[helpful]
