"""
The page /docs: every route with its parameters, its answer and a line to copy.

Built by `http.app` around the application, whose own description it shows; it loads nothing from elsewhere,
runs no scripts and is written once, when it is first asked for.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Final

from fastapi import APIRouter, FastAPI
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse

from engramdb.http.openapi import curl, operations, things

_TEMPLATES: Final = Path(__file__).parents[1] / "web" / "templates"
_ADDRESSES: Final = 8
"""The page is kept for so many addresses that it was asked for by."""


def docs_routes(app: FastAPI) -> APIRouter:
    """Return the page about the API of an application."""
    router = APIRouter(include_in_schema=False)

    @lru_cache(maxsize=_ADDRESSES)
    def written(base: str) -> str:
        return _render(app, base)

    @router.get("/docs")
    def docs(request: Request) -> HTMLResponse:
        """Show every route."""
        return HTMLResponse(written(f"{request.url.scheme}://{request.url.netloc}"))

    return router


def _render(app: FastAPI, base: str) -> str:
    described = app.openapi()
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    found = list(things(described))
    environment.globals["curl"] = lambda operation: curl(operation, base)
    environment.filters |= {"linked": _Linker([one.name for one in found]), "code": _code}
    tags = {one["name"]: one["description"] for one in described.get("tags", ())}
    routes = sorted(operations(described), key=lambda one: _place(one.tag, list(tags)))
    return environment.get_template("docs.html").render(
        families=[
            (tag, tags.get(tag, ""), list(group)) for tag, group in groupby(routes, key=lambda one: one.tag)
        ],
        things=found,
        version=app.version,
        base=base,
    )


def _place(tag: str, tags: list[str]) -> int:
    return tags.index(tag) if tag in tags else len(tags)


def _code(text: str) -> Markup:
    """Return prose with what stands between backticks as code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))  # noqa: S704 - escaped before


class _Linker:
    """Turns the names of objects into links to where they are described."""

    def __init__(self, names: list[str]) -> None:
        self._names = re.compile(rf"\b({'|'.join(map(re.escape, names))})\b")

    def __call__(self, kind: str) -> Markup:
        """Return a kind in words with its links."""
        return Markup(self._names.sub(r'<a href="#\1">\1</a>', str(escape(kind))))  # noqa: S704 - escaped before
