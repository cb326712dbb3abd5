"""
The option that names a picture, and whether one can be drawn.

Used by `forecast` and `policy`. A wrong ending is refused before any work is done, and so is the absence of
matplotlib, which is an extra and imported by no other command.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Annotated

import typer

from engram.errors import MissingExtra

ENDINGS = (".png", ".svg")


def picture_file(text: str) -> Path:
    """Return the file of a picture, whose ending says how it is drawn."""
    path = Path(text).expanduser()
    if path.suffix.lower() not in ENDINGS:
        raise typer.BadParameter(f"{text!r} does not end in {' or '.join(ENDINGS)}")
    return path


Plot = Annotated[
    Path | None, typer.Option(metavar="FILE", parser=picture_file, help="Also draw it, as .png or .svg.")
]
Picture = Annotated[str, typer.Argument(metavar="FILE", help="Where to, as .png or .svg.")]


def require_plots(file: Path | None) -> None:
    """Raise if a picture is wanted and there is nothing to draw it with."""
    if file is not None and importlib.util.find_spec("matplotlib") is None:
        raise MissingExtra("a picture needs matplotlib", hint="pip install 'engram-memory[plots]'")
