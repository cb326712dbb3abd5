"""The built-in embedder: a static table distilled by our own script."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from engramdb.erasable_cache import ErasableTable
from engramdb.errors import EmbedderUnavailable
from engramdb.models.calibration import Calibration
from engramdb.models.wordpiece import WordPieces, bert_uncased
from engramdb.text.terms import STOP_WORDS
from engramdb.values.memory import EmbedderIdentity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NAME: Final = "static"
TABLE_FOLDER: Final = Path(__file__).parent / "static_table"
ALGORITHM: Final = 1  # raise it whenever the same table would give other vectors
BATCH: Final = 256
AT_ONCE: Final = 32
"""Texts whose words are added up together: what fits the processor's cache takes half the time."""
MAX_CACHED_TEXTS: Final = 2048
"""The write pipeline asks for the rows of a batch and of its neighbors thrice; 2 MB."""

# Printed by `python -m evals.calibration --embedder static`; to be fitted again with every new table.
CALIBRATION: Final = Calibration(
    (
        (-0.0415, 0.0),
        (0.0705, 0.1),
        (0.2638, 0.4),
        (0.5353, 0.6),
        (0.6516, 0.7),
        (0.7734, 0.85),
        (1.0, 1.0),
    )
)

# Of the direction of all small words together. 0.4 to 0.6 are alike: docs/lab/0010-calibration.md.
SMALL_WORDS_SHARE: Final = 0.5
STATEMENT_CALIBRATION: Final = Calibration(
    (
        (0.0305, 0.0),
        (0.1292, 0.1),
        (0.3809, 0.4),
        (0.5756, 0.6),
        (0.6736, 0.7),
        (0.7951, 0.85),
        (1.0, 1.0),
    )
)

# The length of a rare word's vector in the table (median of entries 20,000 to 29,000), so that a word known
# only by its letters counts as much as a rare one.
HASHED_LENGTH: Final = 11.4
LETTERS_AT_ONCE: Final = 2
MAX_LETTERS_HASHED: Final = 64  # of one unknown word: a 8 KB blob must not cost more than a page of text


class Table(Struct, frozen=True):
    """Rows of 8-bit numbers, what each row is multiplied by, and the words they stand for."""

    rows: NDArray[np.int8]
    scales: NDArray[np.float32]
    words: WordPieces


class StaticEmbedder:
    """
    Text in, 256 numbers out, with nothing but NumPy.

    Questions and documents are embedded alike. Safe to share between threads: the table is read-only.
    """

    def __init__(self) -> None:
        self._loading = threading.Lock()
        self._table: Table | None = None
        self._kept: ErasableTable[NDArray[np.float32]] = ErasableTable()

    @property
    def identity(self) -> EmbedderIdentity:
        """The revision is a hash of the table and the version of the arithmetic below."""
        return static_identity()

    @property
    def similarity_floor(self) -> float:
        """Unrelated texts lie around 0.1; docs/lab/0003-fusion.md."""
        return 0.1

    @property
    def similarity_ceiling(self) -> float:
        """A question in the words of the memory."""
        return 1.0

    @property
    def calibration(self) -> Calibration:
        """Fitted once and committed; docs/lab/0010-calibration.md."""
        return CALIBRATION

    @property
    def batch(self) -> int:
        """Larger batches gain nothing and hold more memory."""
        return BATCH

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row of length one per text."""
        import numpy as np  # noqa: PLC0415 - most commands compute nothing

        result = np.empty((len(texts), self.identity.dimension), np.float32)
        for begin in range(0, len(texts), BATCH):
            self._fill(result[begin : begin + BATCH], texts[begin : begin + BATCH])
        return result

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row of length one per question."""
        return self.embed_documents(texts)

    def _fill(self, rows: NDArray[np.float32], texts: Sequence[str]) -> None:
        """Set the rows of these texts: from what is at hand, and the others embedded together."""
        known = [self._kept.get(text) for text in texts]
        missing = [place for place, row in enumerate(known) if row is None]
        if missing:
            fresh = [
                row
                for begin in range(0, len(missing), AT_ONCE)
                for row in _embed(self._open(), [texts[place] for place in missing[begin : begin + AT_ONCE]])
            ]
            if len(self._kept) + len(missing) > MAX_CACHED_TEXTS:
                self._kept.clear()
            for place, row in zip(missing, fresh, strict=True):
                known[place] = self._kept[texts[place]] = row
        for place, row in enumerate(known):
            rows[place] = row

    def _open(self) -> Table:
        if self._table is None:
            with self._loading:
                self._table = self._table or read_table()
        return self._table


class StatementEmbedder:
    """
    The built-in embedder for comparing what is said, without the small words that every sentence shares.

    In a sum of words the small ones add up, so that any two long texts look alike: of the turns of a
    conversation, 20 % had an earlier turn at 0.85; without that shared direction 1 %. Not for search, which
    got worse when the first axis was removed.
    """

    calibration: Final = STATEMENT_CALIBRATION

    def __init__(self, embedder: StaticEmbedder) -> None:
        self._embedder = embedder
        self._shared: NDArray[np.float32] | None = None

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row of length one per text."""
        if self._shared is None:  # and not at once: reading the table takes longer than a command should
            small = self._embedder.embed_documents([" ".join(sorted(STOP_WORDS))])
            self._shared = small * SMALL_WORDS_SHARE
        return _to_unit_length(self._embedder.embed_documents(texts) - self._shared)


@cache
def static_identity() -> EmbedderIdentity:
    """Return the identity from the note beside the table, without reading the table."""
    try:
        note = json.loads((TABLE_FOLDER / "table.json").read_bytes())
        hashes, dimension = note["files"], int(note["dimension"])
    except (OSError, ValueError, KeyError) as exc:
        raise _broken_installation(exc) from exc
    digest = hashlib.sha256("".join(hashes[name] for name in sorted(hashes)).encode()).hexdigest()
    return EmbedderIdentity(name=NAME, dimension=dimension, revision=f"{digest[:12]}-{ALGORITHM}")


def read_table(folder: Path = TABLE_FOLDER) -> Table:
    """Return the table that ships with the package."""
    import numpy as np  # noqa: PLC0415 - most commands compute nothing

    try:
        rows = np.load(folder / "vectors.npy", mmap_mode="r", allow_pickle=False)
        scales = np.load(folder / "scales.npy", allow_pickle=False)
        return Table(np.asarray(rows), scales, bert_uncased())
    except (OSError, ValueError) as exc:
        raise _broken_installation(exc) from exc


def _broken_installation(cause: Exception) -> EmbedderUnavailable:
    return EmbedderUnavailable(
        f"the built-in embedder's table cannot be read: {type(cause).__name__}",
        hint="The installation is damaged: reinstall engramdb.",
    )


def _embed(table: Table, texts: Sequence[str]) -> NDArray[np.float32]:
    """Return the rows of a few texts; each depends on its own text only, bit for bit."""
    import numpy as np  # noqa: PLC0415 - most commands compute nothing

    pieces: list[int] = []
    starts: list[int] = []
    hashed: list[tuple[int, str]] = []
    for number, text in enumerate(texts):
        starts.append(len(pieces))
        # One weightless entry opens every text, because `reduceat` cannot add up nothing.
        pieces.append(table.words.start)
        for word in table.words.words(text):
            ids = table.words.pieces(word)
            pieces.extend(ids)
            if ids[0] == table.words.unknown:
                hashed.append((number, word))

    weighted = table.rows[pieces] * table.scales[pieces, None]
    sums = np.add.reduceat(weighted, starts, axis=0)
    for number, word in hashed:
        sums[number] += _hash_word(word, sums.shape[1])
    return _to_unit_length(sums)


def _hash_word(word: str, dimension: int) -> NDArray[np.float32]:
    """Return a vector that depends on the letters only: alike for words that share runs of letters."""
    import numpy as np  # noqa: PLC0415 - most commands compute nothing

    runs = _runs_of_letters(word)
    total = np.sum([_signs(run, dimension) for run in runs], axis=0, dtype=np.float32)
    return np.asarray(total * (HASHED_LENGTH / np.linalg.norm(total)), np.float32)


def _runs_of_letters(word: str) -> list[str]:
    marked = f"<{word[:MAX_LETTERS_HASHED]}>"
    inner = [marked[at : at + LETTERS_AT_ONCE] for at in range(len(marked) - LETTERS_AT_ONCE + 1)]
    return [word, *inner]


def _signs(run: str, dimension: int) -> NDArray[np.float32]:
    """Return plus and minus ones drawn from a hash: about at right angles for different runs."""
    import numpy as np  # noqa: PLC0415 - most commands compute nothing

    digest = hashlib.shake_128(run.encode()).digest(dimension // 8)
    bits = np.unpackbits(np.frombuffer(digest, np.uint8))
    return bits.astype(np.float32) * 2 - 1


def _to_unit_length(sums: NDArray[np.float32]) -> NDArray[np.float32]:
    import numpy as np  # noqa: PLC0415 - most commands compute nothing

    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    for number in np.flatnonzero(lengths[:, 0] == 0):
        # Nothing in the text can be read. All such texts share one direction, far from every real one.
        sums[number] = _signs("", sums.shape[1])
        lengths[number] = np.sqrt(np.float32(sums.shape[1]))
    return np.asarray(sums / lengths, np.float32)
