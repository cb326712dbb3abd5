"""
One peer of `evals.speed_peers`, timed; run with the peer's own Python, which has no Engram.

    python speed_peer_worker.py NAME INPUTS FOLDER SECONDS
"""

from __future__ import annotations

import json
import os
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import psutil

BATCH = 256
LIMIT = 10
DIMENSION = 256


class ReadyVectors:
    """Looks up what was embedded before, in whichever way a peer asks for it."""

    def __init__(self, inputs: Path) -> None:
        told, rows = json.loads(inputs.with_suffix(".json").read_text()), np.load(inputs)
        self.texts, self.questions = told["texts"], told["questions"]
        self.text_rows, self.question_rows = rows["texts"], rows["questions"]
        texts, vectors = [*self.texts, *self.questions], [*self.text_rows, *self.question_rows]
        self._known = {text.strip(): row for text, row in zip(texts, vectors, strict=True)}

    def embed(self, text: str, *_: Any, **__: Any) -> list[float]:
        """Return the vector of one text."""
        found: list[float] = self._known[text.strip()].tolist()
        return found

    def embed_batch(self, texts: list[str], *_: Any, **__: Any) -> list[list[float]]:
        """Return the vectors of several texts."""
        return [self.embed(text) for text in texts]


class Chroma:
    """A collection on disk, filled in batches."""

    package = "chromadb"

    def __init__(self, vectors: ReadyVectors, folder: Path) -> None:
        import chromadb  # noqa: PLC0415 - each has its own environment
        from chromadb.config import Settings  # noqa: PLC0415

        client = chromadb.PersistentClient(str(folder), settings=Settings(anonymized_telemetry=False))
        self._collection = client.create_collection("memories", embedding_function=None)
        self._vectors = vectors

    def add(self, start: int, stop: int) -> None:
        """Store some of the texts."""
        self._collection.add(
            ids=[str(number) for number in range(start, stop)],
            documents=self._vectors.texts[start:stop],
            embeddings=self._vectors.text_rows[start:stop],
        )

    def search(self, number: int) -> int:
        """Ask one question and return how many answers came."""
        rows = self._vectors.question_rows[number : number + 1]
        return len(self._collection.query(query_embeddings=rows, n_results=LIMIT)["ids"][0])


class LangGraph:
    """LangGraph's store in memory, with an index, filled in batches."""

    package = "langgraph"

    def __init__(self, vectors: ReadyVectors, _folder: Path) -> None:
        from langgraph.store.base import PutOp  # noqa: PLC0415
        from langgraph.store.memory import InMemoryStore  # noqa: PLC0415

        self._put = PutOp
        index: Any = {"dims": DIMENSION, "embed": vectors.embed_batch, "fields": ["text"]}
        self._store = InMemoryStore(index=index)
        self._vectors = vectors

    def add(self, start: int, stop: int) -> None:
        """Store some of the texts."""
        texts = self._vectors.texts
        self._store.batch(
            [self._put(("m",), str(number), {"text": texts[number]}) for number in range(start, stop)]
        )

    def search(self, number: int) -> int:
        """Ask one question and return how many answers came."""
        return len(self._store.search(("m",), query=self._vectors.questions[number], limit=LIMIT))


class Mem0:
    """mem0 without a language model, over its default vector store on disk; it adds one by one."""

    package = "mem0ai"

    def __init__(self, vectors: ReadyVectors, folder: Path) -> None:
        os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(folder), "OPENAI_API_KEY": "none"}
        from mem0 import Memory  # noqa: PLC0415

        store = {"path": str(folder / "qdrant"), "on_disk": True, "embedding_model_dims": DIMENSION}
        self._memory = Memory.from_config({"vector_store": {"provider": "qdrant", "config": store}})
        self._memory.embedding_model = vectors
        self._vectors = vectors

    def add(self, start: int, stop: int) -> None:
        """Store some of the texts."""
        for number in range(start, stop):
            self._memory.add(self._vectors.texts[number], user_id="u", infer=False)

    def search(self, number: int) -> int:
        """Ask one question and return how many answers came."""
        question = self._vectors.questions[number]
        try:
            found = self._memory.search(question, filters={"user_id": "u"}, top_k=LIMIT)
        except TypeError:  # as it was called before
            found = self._memory.search(question, user_id="u", limit=LIMIT)
        return len(found["results"])


PEERS: dict[str, Any] = {"chroma": Chroma, "langgraph": LangGraph, "mem0": Mem0}


def measure(name: str, inputs: Path, folder: Path, seconds: float) -> dict[str, Any]:
    """Fill a peer for as long as it may take, and ask it every question."""
    vectors = ReadyVectors(inputs)
    peer = PEERS[name](vectors, folder)
    begun, until, stored = time.process_time(), time.monotonic() + seconds, 0
    while stored < len(vectors.texts) and time.monotonic() < until:
        stop = min(stored + BATCH, len(vectors.texts))
        peer.add(stored, stop)
        stored = stop
    added = time.process_time() - begun
    times, answers = [], 0
    for number in range(len(vectors.questions)):
        started = time.process_time()
        answers += peer.search(number)
        times.append((time.process_time() - started) * 1000)
    on_disk = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    return {
        "stored": stored,
        "adds/s": stored / added,
        "search p50 ms": float(np.percentile(times, 50)),
        "search p95 ms": float(np.percentile(times, 95)),
        "resident MB": psutil.Process().memory_info().rss / 1e6,
        "on disk MB": on_disk / 1e6,
        "note": f"{PEERS[name].package} {version(PEERS[name].package)}, {answers / len(times):.1f} hits",
    }


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), float(sys.argv[4]))))
