"""
The form that a visitor without a token sees.

Answered by `http.bearer`; it knows nothing of the store. It works without scripts, and a password
manager may keep the token.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from engram import __version__


def sign_in_page(*, is_wrong: bool) -> str:
    """Return the form, and say so where the token just sent is not one of ours."""
    return _template().render(is_wrong=is_wrong, version=__version__)


@cache
def _template() -> Template:
    folder = Path(__file__).parent / "templates"
    environment = Environment(loader=FileSystemLoader(folder), autoescape=True, undefined=StrictUndefined)
    return environment.get_template("sign_in.html")
