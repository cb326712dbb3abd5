"""
Choose and open an embedder by name.

Called by the engine when it opens and by the command line's `models`; the only place that builds embedders.
Opening is cheap: a manifest is read, no library is imported and nothing is downloaded. `auto` never falls
back from a pack that is broken, because that would move a store into another vector space unnoticed.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from engram.errors import EmbedderUnavailable, InvalidSettings, MissingExtra, ModelPackBroken, UnknownModel
from engram.providers import e5, static
from engram.providers.e5 import E5Embedder
from engram.providers.packs import find_pack
from engram.providers.static import StaticEmbedder

if TYPE_CHECKING:
    from pathlib import Path

    from engram.providers.embedder import Embedder

AUTO: Final = "auto"
OPENAI_PREFIX: Final = "openai:"


@dataclass(frozen=True, slots=True)
class ModelCard:
    """What a person needs to choose an embedder."""

    name: str
    dimension: int
    languages: str
    size_megabytes: int
    is_installed: bool
    good_for: str


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where an `openai:` embedder is served, and how to ask."""

    url: str
    api_key: str | None = None
    dimension: int | None = None
    timeout_seconds: float = 20.0
    batch: int = 32

    def __repr__(self) -> str:
        return f"Endpoint(url={self.url!r}, dimension={self.dimension})"


def available(home: Path) -> list[ModelCard]:
    """Return every embedder that can be chosen by a plain name, the built-in first."""
    return [
        ModelCard(
            static.NAME,
            static.static_identity().dimension,
            languages="English; other languages by spelling only",
            size_megabytes=8,
            is_installed=True,
            good_for="Always there, no extra to install, thousands of texts a second; weaker on paraphrase.",
        ),
        ModelCard(
            e5.NAME,
            e5.DIMENSION,
            languages="English",
            size_megabytes=34,
            is_installed=_is_installed(e5.NAME, home),
            good_for="The best recall on conversations; needs the extra `models` and about 10 ms a text.",
        ),
    ]


def open_embedder(choice: str, home: Path, *, endpoint: Endpoint | None = None, threads: int = 1) -> Embedder:
    """
    Return the embedder of that name, not yet loaded.

    `auto` is the pack when it is installed and can run, otherwise the built-in. `openai:MODEL` needs an
    endpoint. `threads` is how many cores one text may use, where the embedder has a say in it.
    """
    if choice == AUTO:
        return _open_best(home, threads)
    if choice == static.NAME:
        return StaticEmbedder()
    if choice == e5.NAME:
        return _open_e5(home, threads)
    if choice.startswith(OPENAI_PREFIX):
        return _open_endpoint(choice.removeprefix(OPENAI_PREFIX), endpoint)
    raise UnknownModel(f"there is no embedder called {choice!r}")


def _open_best(home: Path, threads: int) -> Embedder:
    pack = find_pack(e5.NAME, home)
    if pack is None or not _runtime_is_installed():
        return StaticEmbedder()
    return E5Embedder(pack, threads=threads)


def _open_e5(home: Path, threads: int) -> Embedder:
    pack = find_pack(e5.NAME, home)
    if pack is None:
        raise EmbedderUnavailable(
            f"the model pack {e5.NAME!r} is not installed", hint=f"Add it: `engram models add {e5.NAME}`."
        )
    if not _runtime_is_installed():
        raise MissingExtra(f"{e5.NAME!r} needs onnxruntime", hint="pip install 'engram-memory[models]'")
    return E5Embedder(pack, threads=threads)


def _open_endpoint(model: str, endpoint: Endpoint | None) -> Embedder:
    if not model:
        raise UnknownModel("`openai:` needs the name of a model after the colon")
    if endpoint is None:
        raise InvalidSettings(
            f"the embedder 'openai:{model}' needs the address of its server", hint="Set ENGRAM_EMBEDDER_URL."
        )
    # Brings in the HTTP client and TLS, a tenth of the time that `import engram` takes.
    from engram.providers.openai_compatible import OpenAICompatibleEmbedder  # noqa: PLC0415

    return OpenAICompatibleEmbedder(
        url=endpoint.url,
        model=model,
        api_key=endpoint.api_key,
        dimension=endpoint.dimension,
        timeout_seconds=endpoint.timeout_seconds,
        batch=endpoint.batch,
    )


def _runtime_is_installed() -> bool:
    return importlib.util.find_spec("onnxruntime") is not None


def _is_installed(name: str, home: Path) -> bool:
    try:
        return find_pack(name, home) is not None
    except ModelPackBroken:
        return False
