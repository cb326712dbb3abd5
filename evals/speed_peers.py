"""
Speed beside Chroma, LangGraph's InMemoryStore and mem0 (`infer=False`), in one run, with the same vectors.

    python -m evals.speed_peers [--data LOCOMO] [--size 10000] [--seconds 120] [--only chroma] [--json FILE]

Each peer is installed into an environment of its own under `.cache/peers` and runs in a process of its own;
one that cannot be installed or fails is named with the reason. All are handed the vectors of the built-in
embedder, ready made; Engram makes its own, which counts against it. A slow peer stops adding after
`--seconds` and is asked with what it has by then. Times are processor time of the whole process, of adding
in bulk where the peer has that. What each does besides finding vectors differs: the table says how fast,
not how good.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from engramdb.models.registry import open_embedder
from evals.report import keep, show
from evals.speed import QUESTIONS, conversation_text

if TYPE_CHECKING:
    from collections.abc import Sequence

PACKAGES = {"chroma": "chromadb", "langgraph": "langgraph", "mem0": "mem0ai"}
ENVIRONMENTS = Path(".cache") / "peers"
WORKER = Path(__file__).with_name("speed_peer_worker.py")
INSTALL_SECONDS = 600
SPARE_SECONDS = 300
"""What opening and asking may take on top of adding."""


def run_engram(data: Path | None, size: int) -> dict[str, Any]:
    """Return Engram's row, measured by `evals.speed` in a process of its own."""
    command = [sys.executable, "-m", "evals.speed", "--one", "--sizes", str(size), "--straight", str(size)]
    command += [] if data is None else ["--data", str(data)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    row = json.loads(done.stdout.splitlines()[-1])
    return {
        "": "Engram",
        "stored": size,
        "adds/s": row["bulk adds/s"],
        "search p50 ms": row["recall p50 ms"],
        "search p95 ms": row["recall p95 ms"],
        "resident MB": row["resident MB"],
        "on disk MB": row["file MB"],
    }


def run_peer(name: str, inputs: Path, folder: Path, seconds: float) -> dict[str, Any]:
    """Return a peer's row, or why there is none."""
    python = ENVIRONMENTS / name / "bin" / "python"
    try:
        _install(name, python)
        command = [str(python), str(WORKER), name, str(inputs), str(folder), str(seconds)]
        done = subprocess.run(
            command, check=True, capture_output=True, text=True, timeout=seconds + SPARE_SECONDS
        )
    except subprocess.TimeoutExpired:
        return {"": name, "note": "took too long"}
    except subprocess.CalledProcessError as exc:
        told = (exc.stderr or "").strip().splitlines()
        return {"": name, "note": f"failed: {told[-1][:100] if told else exc.returncode}"}
    return {"": name, **json.loads(done.stdout.splitlines()[-1])}


def _install(name: str, python: Path) -> None:
    mark = python.parent / "installed"
    if mark.exists():
        return
    subprocess.run([sys.executable, "-m", "venv", str(python.parent.parent)], check=True)
    subprocess.run(
        [str(python), "-m", "pip", "install", "--quiet", "numpy", "psutil", PACKAGES[name]],
        check=True,
        capture_output=True,
        text=True,
        timeout=INSTALL_SECONDS,
    )
    mark.touch()


def write_inputs(path: Path, texts: Sequence[str], questions: Sequence[str]) -> None:
    """Write the texts, the questions and the vectors of both where a peer can read them."""
    embedder = open_embedder("static", path.parent)
    np.savez(path, texts=embedder.embed_documents(texts), questions=embedder.embed_queries(questions))
    path.with_suffix(".json").write_text(json.dumps({"texts": list(texts), "questions": list(questions)}))


def main() -> None:
    """Measure Engram and each peer, print the table and keep the JSON."""
    parser = argparse.ArgumentParser(prog="python -m evals.speed_peers", description=__doc__.split("\n")[1])
    parser.add_argument("--data", type=Path, help="a LoCoMo file whose turns and questions are used")
    parser.add_argument("--size", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=120.0, help="for how long a peer may add")
    parser.add_argument("--only", nargs="+", choices=sorted(PACKAGES), default=sorted(PACKAGES))
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    text = conversation_text(arguments.data)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        inputs = folder / "inputs.npz"
        # Each text once: LangGraph's store fails on a batch that holds one twice.
        once = list(dict.fromkeys(islice(text.statements, 2 * arguments.size)))[: arguments.size]
        write_inputs(inputs, once, text.questions[:QUESTIONS])
        rows = [run_engram(arguments.data, arguments.size)]
        for peer in arguments.only:
            own = folder / peer
            own.mkdir()
            rows.append(run_peer(peer, inputs, own, arguments.seconds))
    show(f"{arguments.size} memories, the same vectors for all", rows)
    print(f"\nWritten to {keep('speed_peers', {'rows': rows}, path=arguments.json)}")


if __name__ == "__main__":
    main()
