"""
Choose and open embedders and chat models by name; the only place that builds them.

Opening is cheap: a manifest is read, no library is loaded and nothing is downloaded. `auto` never falls back
from a pack that is broken, because that would move a store into another vector space unnoticed.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from engramdb.errors import EmbedderUnavailable, InvalidSettings, MissingExtra, ModelPackBroken, UnknownModel
from engramdb.models import e5, static
from engramdb.models.chat import ChatModel
from engramdb.models.e5 import E5Embedder
from engramdb.models.embedder import Embedder
from engramdb.models.packs import GUARD_VERSION, READER_VERSION, find_pack
from engramdb.models.static import StaticEmbedder

if TYPE_CHECKING:
    from engramdb.models.guard_model import GuardModel
    from engramdb.models.reader_pack import PackReader

EMBEDDER_NETWORK, READER_NETWORK, GUARD_NETWORK = "model.", "reader.", "guard."
"""How the names of the files of each network of the pack begin."""
INTERFACES: Final = ("openai", "anthropic")


def open_chat(
    choice: str, *, url: str = "", key: str | None = None, timeout_seconds: float = 60.0
) -> ChatModel:
    """Return the chat model of that name, not yet asked; `timeout_seconds` is for one whole completion."""
    interface, _, model = choice.partition(":")
    if interface not in INTERFACES or not model.strip():
        raise UnknownModel(
            f"there is no chat model called {choice!r}", hint="Write `openai:MODEL` or `anthropic:MODEL`."
        )
    if timeout_seconds <= 0:
        raise InvalidSettings(f"the time-out of the chat model, {timeout_seconds}, must be above 0")
    if interface == "anthropic":
        return _open_anthropic(model, url, key, timeout_seconds)
    return _open_openai(model, url, key, timeout_seconds)


def _open_openai(model: str, url: str, key: str | None, timeout_seconds: float) -> ChatModel:
    if not url:
        raise InvalidSettings(
            f"the chat model 'openai:{model}' needs the address of its server",
            hint="Give it, such as http://localhost:11434/v1 for a model on this machine.",
        )
    # Brings in the HTTP client, which is an extra and takes longer to import than the rest of `models`.
    from engramdb.models.openai import OpenAIChat  # noqa: PLC0415

    return OpenAIChat(url, model, key, timeout_seconds=timeout_seconds)


def _open_anthropic(model: str, url: str, key: str | None, timeout_seconds: float) -> ChatModel:
    if not key and not url:
        raise InvalidSettings(f"the chat model 'anthropic:{model}' needs a key")
    from engramdb.models.anthropic import SERVICE_URL, AnthropicChat  # noqa: PLC0415

    return AnthropicChat(model, key, url=url or SERVICE_URL, timeout_seconds=timeout_seconds)


AUTO: Final = "auto"
OPENAI_PREFIX: Final = "openai:"


class ModelCard(Struct, frozen=True):
    """What a person needs to choose an embedder."""

    name: str
    dimension: int
    languages: str
    size_megabytes: int
    is_installed: bool
    good_for: str


class Endpoint(Struct, frozen=True):
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
            size_megabytes=103,
            is_installed=_is_installed(e5.NAME, home),
            good_for="The best recall on conversations; needs the extra `models` and about 10 ms a text. "
            "Brings the reader, which can judge statements (setting `reader`), and the guard model, which "
            "finds private words and attempts to steer an agent.",
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
    pack = find_pack(e5.NAME, home, network=EMBEDDER_NETWORK)
    if pack is None or not _runtime_is_installed():
        return StaticEmbedder()
    return E5Embedder(pack, threads=threads)


def _open_e5(home: Path, threads: int) -> Embedder:
    pack = find_pack(e5.NAME, home, network=EMBEDDER_NETWORK)
    if pack is None:
        raise EmbedderUnavailable(
            f"the model pack {e5.NAME!r} is not installed", hint=f"Add it: `engram models add {e5.NAME}`."
        )
    if not _runtime_is_installed():
        raise MissingExtra(f"{e5.NAME!r} needs onnxruntime", hint="pip install 'engramdb[models]'")
    return E5Embedder(pack, threads=threads)


def _open_endpoint(model: str, endpoint: Endpoint | None) -> Embedder:
    if not model:
        raise UnknownModel("`openai:` needs the name of a model after the colon")
    if endpoint is None:
        raise InvalidSettings(
            f"the embedder 'openai:{model}' needs the address of its server", hint="Set ENGRAM_EMBEDDER_URL."
        )
    # Brings in the HTTP client, which is an extra and takes longer to import than the rest of `models`.
    from engramdb.models.openai import OpenAICompatibleEmbedder  # noqa: PLC0415

    return OpenAICompatibleEmbedder(
        url=endpoint.url,
        model=model,
        api_key=endpoint.api_key,
        dimension=endpoint.dimension,
        timeout_seconds=endpoint.timeout_seconds,
        batch=endpoint.batch,
    )


HEAD_READER: Final = "static-head"
"""What status calls the heads over the built-in embedding; their version is in their file."""
E5_READER: Final = f"{e5.NAME}/{READER_VERSION}"
"""What status and history call the reader of the pack."""


def open_reader(home: Path) -> PackReader:
    """Return the reader of the pack, not yet loaded; raises where this release's is not installed."""
    pack = find_pack(e5.NAME, home, network=READER_NETWORK)
    if pack is None or not _runtime_is_installed():
        raise EmbedderUnavailable(
            "the model pack, which has the reader, is not installed",
            hint=f"Add it: `engram models add {e5.NAME}`.",
        )
    if pack.manifest.reader != READER_VERSION:
        raise ModelPackBroken(
            "the model pack has no reader of this release",
            hint=f"Add it again: `engram models add {e5.NAME}`.",
        )
    from engramdb.models.reader_pack import PackReader  # noqa: PLC0415 - brings in NumPy

    return PackReader(pack)


def has_reader(home: Path) -> bool:
    """Return whether the pack with this release's reader is installed, without loading anything."""
    try:
        pack = find_pack(e5.NAME, home, network=READER_NETWORK)
    except (ModelPackBroken, OSError):  # the reader of single sentences says so
        return False
    return pack is not None and pack.manifest.reader == READER_VERSION and _runtime_is_installed()


def find_guard_model(home: Path) -> GuardModel | None:
    """Return the guard model of the pack, not yet loaded, or None without one; raises where it is broken."""
    pack = find_pack(e5.NAME, home, network=GUARD_NETWORK)
    if pack is None or not _runtime_is_installed():
        return None
    if pack.manifest.guard != GUARD_VERSION:
        raise ModelPackBroken(
            "the model pack has no guard model of this release",
            hint=f"Add it again: `engram models add {e5.NAME}`.",
        )
    from engramdb.models.guard_model import GuardModel  # noqa: PLC0415 - brings in NumPy

    return GuardModel(pack)


def _runtime_is_installed() -> bool:
    return importlib.util.find_spec("onnxruntime") is not None


def _is_installed(name: str, home: Path) -> bool:
    try:
        return find_pack(name, home) is not None
    except ModelPackBroken:
        return False
