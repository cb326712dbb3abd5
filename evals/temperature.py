"""
What do fewer bits a number cost, and what do they save?

    python -m evals.temperature --data FILE [--embedder e5-small] [--home FOLDER] [--json FILE]

Every turn of a LoCoMo file is embedded as the product does it, brought to each precision by the store's own
codec, and asked for by every question: what is still found of the ten that unrounded vectors find, and of
the turns that answer? Ways that the codec does not go are kept here, so that the choice can be checked.
The write-up is docs/lab/0011-temperature.md.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import apsw
import numpy as np
from numpy.typing import NDArray

from engramdb import Settings
from engramdb.index.vector import VectorIndex
from engramdb.lifecycle.candidates import born
from engramdb.models.registry import open_embedder
from engramdb.policy import CapturePolicy
from engramdb.store.sqlite.precision import decode_quantized, encode, rotate, rotate_back, row_bytes
from engramdb.store.sqlite.store import SqliteStore
from engramdb.testing import ManualClock
from engramdb.text.terms import passage
from engramdb.values import EmbedderIdentity, Memory
from evals.fusion import recall_at
from evals.locomo import read
from evals.report import keep, show

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engramdb.models.embedder import Embedder

Floats: TypeAlias = NDArray[np.float32]
Way: TypeAlias = "Callable[[Floats, int], Floats]"
CUT = 10
DRAWS = 5  # of which half of the store is cold
FETCHED = 500  # as many rows as the index looks at for a question
FEW = (4, 2, 1)
SEEDS = {32: "1.000", 8: "0.9999", 4: "0.97", 2: "0.59", 1: "–"}  # its cosines
AGES = (0.2, 0.5, 0.8)  # shares of a conversation at whose end a turn is archived, cold, warm; then active
TIERED_BITS = ((8, 8, 8, 32), (8, 8, 8, 8), (4, 4, 8, 8), (2, 4, 8, 32), (2, 4, 8, 8), (1, 4, 8, 8))
BEST_STEP = {4: 0.3352, 2: 0.9957}  # between even levels, in standard deviations of a bell curve
BEST_LEVELS = {4: (0.1284, 0.388, 0.6567, 0.9423, 1.2561, 1.618, 2.0689, 2.7325), 2: (0.4528, 1.5104)}


@dataclass(frozen=True, slots=True)
class Talk:
    """One conversation: the rows of its turns and of its questions, and which turns answer which."""

    turns: slice
    questions: slice
    evidence: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Corpus:
    """All turns and all questions as vectors."""

    memories: list[Memory]
    turns: Floats
    questions: Floats
    talks: list[Talk]

    @property
    def ages(self) -> NDArray[np.float64]:
        """How late in its conversation each turn was said, from 0 to 1."""
        return np.concatenate([np.linspace(0, 1, one.turns.stop - one.turns.start) for one in self.talks])


def embed(path: Path, embedder: Embedder) -> Corpus:
    """Return the file's turns and questions as the product would embed them."""
    now, policy = ManualClock().now(), CapturePolicy()
    memories: list[Memory] = []
    questions: list[str] = []
    talks = []
    for one in read(path):
        turns = slice(len(memories), len(memories) + len(one.drafts))
        asked = slice(len(questions), len(questions) + len(one.questions))
        evidence = np.array(
            [[turn in question.evidence for turn in one.drafts] for question in one.questions]
        )
        memories += [born(draft, draft.content, policy, now=now) for draft in one.drafts.values()]
        questions += [question.text for question in one.questions]
        talks.append(Talk(turns, asked, evidence))
    documents = embedder.embed_documents([passage(memory) for memory in memories])
    return Corpus(memories, documents, embedder.embed_queries(questions), talks)


def at(vectors: Floats, bits: int) -> Floats:
    """Return what an index is given of vectors stored so; with 32 bits, what the embedder gave."""
    if bits == 32:
        return vectors
    given = decode_quantized(encode(vectors, bits=bits), dimension=vectors.shape[1])
    return np.asarray(given.numbers * given.scales[:, None], np.float32)


def cosines(rows: Floats, truth: Floats) -> Floats:
    """Return how true each row is."""
    lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(truth, axis=1)
    return np.asarray(np.sum(rows * truth, axis=1) / np.maximum(lengths, 1e-9), np.float32)


def best(corpus: Corpus, rows: Floats) -> NDArray[np.intp]:
    """Return the ten nearest rows to each question, of all conversations together."""
    return np.argpartition(-(corpus.questions @ rows.T), CUT, axis=1)[:, :CUT]


def agreement(found: NDArray[np.intp], truth: NDArray[np.intp]) -> float:
    """Return how much of the true ten was found."""
    return float((found[:, :, None] == truth[:, None, :]).any(axis=1).mean())


def evidence_found(
    corpus: Corpus, rows: Floats, *, among: NDArray[np.bool_] | None = None
) -> NDArray[np.float64]:
    """Return per question how much of its evidence, all or `among` some turns, is in its first ten."""
    shares = []
    for one in corpus.talks:
        evidence = one.evidence if among is None else one.evidence & among[one.turns]
        asked = evidence.any(axis=1)
        scores = (corpus.questions[one.questions] @ rows[one.turns].T).astype(np.float64)
        shares.append(recall_at(scores[asked], evidence[asked]))
    return np.concatenate(shares)


def by_precision(corpus: Corpus) -> list[dict[str, Any]]:
    """Return a row per precision, the whole store alike."""
    truth, usual = best(corpus, corpus.turns), evidence_found(corpus, at(corpus.turns, 8))
    lines = []
    for bits in (32, 8, *FEW):
        rows = at(corpus.turns, bits)
        change = evidence_found(corpus, rows) - usual
        beside = f"{change.mean():+.3f} ± {change.std() / len(change) ** 0.5:.3f}"
        size = row_bytes(rows.shape[1], bits)
        known = {"bits": bits, "bytes": size, "smaller": 4 * rows.shape[1] / size, "seed": SEEDS[bits]}
        lines.append({**known, **_quality(corpus, rows, truth), "beside 8 bits": beside})
    return lines


def even_to_largest(vectors: Floats, bits: int) -> Floats:
    """Return the plain way: whole numbers in even steps, up to the row's largest."""
    top = 2 ** (bits - 1) - 1
    stretched = vectors * (top / np.abs(vectors).max(axis=1, keepdims=True))
    return np.asarray(np.rint(stretched), np.float32)


def even_to_bell(vectors: Floats, bits: int) -> Floats:
    """Return even steps of the size that loses least on a bell curve."""
    return _nearest(vectors, [BEST_STEP[bits] * (place + 0.5) for place in range(2 ** (bits - 1))])


def best_to_bell(vectors: Floats, bits: int) -> Floats:
    """Return the levels that lose least on a bell curve."""
    return _nearest(vectors, BEST_LEVELS[bits])


def _nearest(vectors: Floats, upper: Sequence[float]) -> Floats:
    levels = np.array([*(-level for level in reversed(upper)), *upper], np.float32)
    deviations = vectors / np.sqrt((vectors**2).mean(axis=1, keepdims=True))
    return np.asarray(levels[np.searchsorted((levels[1:] + levels[:-1]) / 2, deviations)], np.float32)


def turned(way: Way) -> Way:
    """Return the way with the codec's rotation before and after."""
    return lambda vectors, bits: rotate_back(way(rotate(vectors), bits))


def around_mean(vectors: Floats, bits: int) -> Floats:
    """Return the codec's own way with the mean of the store taken away before and put back after."""
    mean = vectors.mean(axis=0)
    return np.asarray(at(vectors - mean, bits) + mean, np.float32)


WAYS: dict[str, Way] = {
    "even, to the largest": even_to_largest,
    "even, best step": even_to_bell,
    "best levels": best_to_bell,
    "rotated, even, to the largest": turned(even_to_largest),
    "rotated, even, best step": turned(even_to_bell),
    "**rotated, best levels**": at,
    "the same around the mean": around_mean,
}


def by_way(corpus: Corpus) -> list[dict[str, Any]]:
    """Return a row per way of rounding to four and to two bits, all with the corrected scale."""
    truth = best(corpus, corpus.turns)
    lines = []
    for bits in (4, 2):
        for name, way in WAYS.items():
            rows = way(corpus.turns, bits)
            rows = rows if way is around_mean else SCALES["corrected"](rows, corpus.turns)
            lines.append({"bits": bits, "": name, **_quality(corpus, rows, truth)})
    return lines


def _quality(corpus: Corpus, rows: Floats, truth: NDArray[np.intp]) -> dict[str, Any]:
    alike = cosines(rows, corpus.turns)
    return {
        "cosine": f"{alike.mean():.4f}",
        "worst": f"{alike.min():.4f}",
        "of the exact ten": agreement(best(corpus, rows), truth),
        "evidence R@10": float(evidence_found(corpus, rows).mean()),
    }


def _scaled(rows: Floats, scales: Floats) -> Floats:
    return np.asarray(rows * scales[:, None], np.float32)


def _product(one: Floats, other: Floats) -> Floats:
    return np.asarray(np.maximum(np.sum(one * other, axis=1), 1e-9), np.float32)


SCALES: dict[str, Callable[[Floats, Floats], Floats]] = {
    "least error": lambda rows, truth: _scaled(rows, _product(rows, truth) / _product(rows, rows)),
    "length one": lambda rows, truth: _scaled(rows, np.sqrt(_product(truth, truth) / _product(rows, rows))),
    "corrected": lambda rows, truth: _scaled(rows, _product(truth, truth) / _product(rows, truth)),
}


def by_scale(corpus: Corpus) -> list[dict[str, Any]]:
    """Return a row per precision and scale: half of the store has few bits, the other half eight."""
    truth, warm = best(corpus, corpus.turns), at(corpus.turns, 8)
    halves = [np.random.default_rng(draw).random(len(warm)) < 0.5 for draw in range(DRAWS)]
    lines = []
    for bits in FEW:
        cold = at(corpus.turns, bits)
        ways = {name: scale(cold, corpus.turns) for name, scale in SCALES.items()}
        for name, rows in {**ways, "corrected, around the mean": around_mean(corpus.turns, bits)}.items():
            found = [best(corpus, np.where(half[:, None], rows, warm)) for half in halves]
            shares = [float(half[ten].mean()) for half, ten in zip(halves, found, strict=True)]
            fair = [float(half[truth].mean()) for half in halves]
            agreed = [agreement(ten, truth) for ten in found]
            means = {"share of the cold": shares, "fair": fair, "of the exact ten": agreed}
            lines.append({"bits": bits, "scale": name, **{k: float(np.mean(v)) for k, v in means.items()}})
    return lines


def by_age(corpus: Corpus) -> list[dict[str, Any]]:
    """Return a row per choice of precisions for archived, cold, warm and active turns."""
    truth, tiers = best(corpus, corpus.turns), np.searchsorted(AGES, corpus.ages, side="right")
    lines = []
    for chosen in TIERED_BITS:
        rows = np.empty_like(corpus.turns)
        for tier, bits in enumerate(chosen):
            rows[tiers == tier] = at(corpus.turns[tiers == tier], bits)
        sizes = [row_bytes(rows.shape[1], chosen[tier]) for tier in tiers]
        lines.append(
            {
                "archive, cold, warm, active": ", ".join(map(str, chosen)),
                "bytes": float(np.mean(sizes)),
                "of the exact ten": agreement(best(corpus, rows), truth),
                "evidence R@10": float(evidence_found(corpus, rows).mean()),
                "archived evidence": float(evidence_found(corpus, rows, among=tiers == 0).mean()),
                "active evidence": float(evidence_found(corpus, rows, among=tiers == 3).mean()),
            }
        )
    return lines


def in_store(corpus: Corpus, folder: Path) -> list[dict[str, Any]]:
    """Return what a real store and a real index take at each precision."""
    lines = []
    for bits in (8, *FEW):
        path = folder / f"{bits}.db"
        store = SqliteStore.open(str(path), now=ManualClock().now(), is_durable=False)
        identity = EmbedderIdentity(name="eval", dimension=corpus.turns.shape[1], revision="1")
        with store.atomic() as tx:
            space = tx.vectors.make_space(identity)
            keys = [tx.memories.add(one, fingerprint=one.id.encode()) for one in corpus.memories]
            tx.vectors.put(space, keys, corpus.turns)
        begun = time.process_time()
        with store.atomic() as tx:
            tx.vectors.requantize(space, keys, bits)
        spent = time.process_time() - begun
        lines.append(
            {"bits": bits, **_read(store, identity, space, keys), "µs to requantise": 1e6 * spent / len(keys)}
        )
        store.close()
        lines[-1] |= _pages(path, len(keys))
    return lines


def _read(store: SqliteStore, identity: EmbedderIdentity, space: int, keys: Sequence[int]) -> dict[str, Any]:
    """Return what an index takes to load and then holds, and how long reading a shortlist takes."""
    index = VectorIndex(identity, memory_bytes=10**9)
    rng = np.random.default_rng(1)
    chosen = [rng.choice(keys, FETCHED, replace=False).tolist() for _ in range(40)]
    begun = time.process_time()
    index.load(store, stop=threading.Event())
    loaded = time.process_time()
    with store.read() as tx:
        for shortlist in chosen:
            tx.vectors.fetch(space, shortlist)
    read = time.process_time()
    return {
        "in memory": index.state().bytes / len(keys),
        "µs to load": 1e6 * (loaded - begun) / len(keys),
        f"ms for {FETCHED}": 1e3 * (read - loaded) / len(chosen),
    }


def _pages(path: Path, rows: int) -> dict[str, Any]:
    """Return the bytes a vector that the table's pages take, before and after the file is packed."""
    taken = "SELECT sum(pgsize) FROM dbstat WHERE name = 'vectors'"
    connection = apsw.Connection(str(path))
    loose: Any = connection.execute(taken).fetchall()
    connection.execute("VACUUM")
    tight: Any = connection.execute(taken).fetchall()
    connection.close()
    return {"in the file": loose[0][0] / rows, "after VACUUM": tight[0][0] / rows}


def main() -> None:
    """Measure, print the tables and keep the JSON."""
    parser = argparse.ArgumentParser(prog="python -m evals.temperature", description=__doc__.split("\n")[1])
    parser.add_argument("--data", type=Path, required=True, help="a file of LoCoMo's form")
    parser.add_argument("--embedder", default="auto", help="auto, static or e5-small")
    parser.add_argument("--home", type=Path, default=Settings.load().home, help="folder with the model packs")
    parser.add_argument("--json", type=Path, help="where to write the numbers")
    arguments = parser.parse_args()
    embedder = open_embedder(arguments.embedder, arguments.home)
    corpus = embed(arguments.data, embedder)
    with tempfile.TemporaryDirectory() as folder:
        found = {
            "The whole store at one precision": by_precision(corpus),
            "Ways of rounding": by_way(corpus),
            "Half of the store with few bits, half with eight": by_scale(corpus),
            "Precision by age": by_age(corpus),
            "In a store": in_store(corpus, Path(folder)),
        }
    for title, rows in found.items():
        show(f"{title}, {embedder.identity.name}", rows)
    print(f"\nWritten to {keep('temperature', found, path=arguments.json)}")


if __name__ == "__main__":
    main()
