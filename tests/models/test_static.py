"""The built-in embedder: its files, its identity, and words that it does not know."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from engramdb.models.packs import hash_file
from engramdb.models.static import TABLE_FOLDER, StaticEmbedder


def cosine(one: str, other: str) -> float:
    """Return how alike the built-in embedder finds two texts."""
    rows = StaticEmbedder().embed_documents([one, other])
    return float(rows[0] @ rows[1])


def test_the_shipped_files_are_those_that_the_note_names() -> None:
    """The revision is a hash over hashes in a note, so the note has to be true."""
    note = json.loads((TABLE_FOLDER / "table.json").read_bytes())

    assert {name: hash_file(TABLE_FOLDER / name) for name in note["files"]} == note["files"]


def test_every_vocabulary_entry_has_a_row() -> None:
    """The table, the scales and the vocabulary are as long as each other."""
    rows = np.load(TABLE_FOLDER / "vectors.npy", allow_pickle=False)
    scales = np.load(TABLE_FOLDER / "scales.npy", allow_pickle=False)
    words = (TABLE_FOLDER / "vocab.txt").read_text(encoding="utf-8").rstrip("\n").split("\n")

    assert rows.shape == (len(words), StaticEmbedder().identity.dimension)
    assert rows.dtype == np.int8
    assert scales.shape == (len(words),)


@pytest.mark.parametrize(
    ("text", "near", "far"),
    [
        ("My dog loves the park", "The puppy enjoys going to the park", "The invoice is due on Friday"),
        ("I moved to Berlin", "I live in Berlin now", "I bake bread on Sundays"),
        ("She is a physician", "She works as a doctor", "She bought a bicycle"),
    ],
)
def test_a_paraphrase_is_nearer_than_another_subject(text: str, near: str, far: str) -> None:
    """The table knows meanings, not only spellings."""
    assert cosine(text, near) > cosine(text, far) + 0.3


def test_unknown_words_are_told_apart_and_equal_themselves() -> None:
    """An emoji has no entry in the vocabulary, yet it finds itself and no other."""
    assert cosine("🎉", "🎉") == pytest.approx(1, abs=1e-6)
    assert cosine("🎉🎉", "🎉") > 0.3
    assert abs(cosine("🎉", "🚀")) < 0.6


def test_common_words_hardly_move_a_vector() -> None:
    """Articles and punctuation say little about what a text is about."""
    assert cosine("the cat, of the house!", "cat house") > 0.9


def test_nothing_is_read_before_the_first_text() -> None:
    """Opening costs nothing: a program that never embeds never pays for the table."""
    embedder = StaticEmbedder()

    assert embedder.identity.dimension == 256
    assert embedder._table is None


def test_vectors_are_the_same_in_another_process() -> None:
    """Hashes do not depend on Python's random seed, so stored vectors stay comparable."""
    script = (
        "from engramdb.models.static import StaticEmbedder;"
        "print(StaticEmbedder().embed_documents(['caf\\u00e9 \\U0001F389 \\u6b22']).tobytes().hex())"
    )

    seen = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }

    assert len(seen) == 1
    assert seen.pop().decode().strip() == StaticEmbedder().embed_documents(["café 🎉 欢"]).tobytes().hex()
