"""Choosing an embedder by name: cheap, explicit, never a silent change of space."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from engramdb.errors import EmbedderUnavailable, InvalidSettings, MissingExtra, ModelPackBroken, UnknownModel
from engramdb.models import packs as pack_install
from engramdb.models.packs import MANIFEST, pack_folder
from engramdb.models.registry import Endpoint, available, open_embedder

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def home_with_pack(tmp_path: Path) -> Path:
    """A home whose pack has a sound manifest; its network is never loaded here."""
    model = tmp_path / "model.onnx"
    model.write_bytes(b"weights")
    pack_install._place(pack_install.E5_SMALL, [model], tmp_path)
    return tmp_path


def test_auto_is_the_built_in_when_nothing_was_added(tmp_path: Path) -> None:
    """A fresh installation works at once."""
    assert open_embedder("auto", tmp_path).identity.name == "static"


def test_auto_is_the_pack_once_it_is_added(home_with_pack: Path) -> None:
    """Adding a pack is all that is needed to use it."""
    pytest.importorskip("onnxruntime")

    assert open_embedder("auto", home_with_pack).identity.name == "e5-small"


def test_auto_is_the_built_in_when_the_pack_cannot_run(
    home_with_pack: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A home shared with an environment without the extra still opens there."""
    monkeypatch.setitem(sys.modules, "onnxruntime", None)

    assert open_embedder("auto", home_with_pack).identity.name == "static"


def test_auto_does_not_hide_a_broken_pack(home_with_pack: Path) -> None:
    """Falling back would move the store into another space without a word."""
    (pack_folder("e5-small", home_with_pack) / MANIFEST).write_text("{")

    with pytest.raises(ModelPackBroken):
        open_embedder("auto", home_with_pack)


def test_a_pack_that_is_not_there_says_how_to_add_it(tmp_path: Path) -> None:
    """Asking for it by name never downloads."""
    with pytest.raises(EmbedderUnavailable) as caught:
        open_embedder("e5-small", tmp_path)

    assert "engram models add e5-small" in caught.value.hint


def test_a_pack_without_its_runtime_names_the_extra(
    home_with_pack: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Someone who chose the pack by name wants to know what is missing."""
    monkeypatch.setitem(sys.modules, "onnxruntime", None)

    with pytest.raises(MissingExtra):
        open_embedder("e5-small", home_with_pack)


@pytest.mark.parametrize("choice", ["", "e6-small", "Static", "openai", "openai:"])
def test_an_unknown_name_is_an_error(tmp_path: Path, choice: str) -> None:
    """A misspelt choice is never replaced by a guess."""
    with pytest.raises(UnknownModel):
        open_embedder(choice, tmp_path, endpoint=Endpoint("http://localhost:1"))


def test_a_server_needs_an_address(tmp_path: Path) -> None:
    """There is no default server that texts could be sent to by mistake."""
    with pytest.raises(InvalidSettings):
        open_embedder("openai:nomic", tmp_path)


def test_a_server_is_opened_with_what_was_given(tmp_path: Path) -> None:
    """The model's name comes from the choice and the rest from the endpoint."""
    endpoint = Endpoint("http://localhost:1/v1", api_key="sk-secret", dimension=768, batch=8)

    embedder = open_embedder("openai:nomic:latest", tmp_path, endpoint=endpoint)

    assert embedder.identity.name == "openai:nomic:latest"
    assert (embedder.identity.dimension, embedder.batch) == (768, 8)
    assert "sk-secret" not in repr(endpoint)


def test_the_cards_say_what_is_installed(tmp_path: Path, home_with_pack: Path) -> None:
    """A person can choose from the list without reading anything else."""
    without = {card.name: card.is_installed for card in available(tmp_path / "elsewhere")}
    with_pack = {card.name: card.is_installed for card in available(home_with_pack)}

    assert without == {"static": True, "e5-small": False}
    assert with_pack == {"static": True, "e5-small": True}


def test_opening_imports_nothing_heavy(home_with_pack: Path) -> None:
    """The command line answers quickly because models wait for the first text."""
    script = (
        "import sys; from pathlib import Path; from engramdb.models.registry import open_embedder;"
        f"open_embedder('auto', Path({str(home_with_pack)!r})).identity;"
        "print([name for name in ('onnxruntime', 'onnx') if name in sys.modules])"
    )

    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )

    assert done.stdout.strip() == "[]"
