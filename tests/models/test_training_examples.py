"""The labelled text for the reader can be read, whole and without an unknown label."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from engramdb.models.reader_pack import MAX_TOKENS
from training.examples import load
from training.tasks import TASKS

FOLDER = Path(__file__).parents[2] / "training"


def test_every_file_of_labelled_text_becomes_examples() -> None:
    """Each task has examples of each of its classes, and none is longer than the reader takes."""
    examples = load(FOLDER / "data")

    seen = Counter((task, label) for one in examples for task, found in one.labels.items() for label in found)
    assert all(seen[task, number] for task, names in TASKS.items() for number in range(len(names)))
    assert max(len(one.tokens) for one in examples) <= MAX_TOKENS


def test_what_is_held_out_is_not_trained_on() -> None:
    """No pair of texts that is kept out stands in the training data; greetings are the same everywhere."""
    trained = {(one.first, one.second) for one in load(FOLDER / "data")}

    kept_out = {(one.first, one.second) for one in load(FOLDER / "held_out") if one.second}
    assert kept_out
    assert not trained & kept_out


def test_every_wording_of_a_fact_is_paired_with_every_near_miss(tmp_path: Path) -> None:
    """Two wordings are the same; a near miss is what its label says, beside each of them."""
    folder = tmp_path / "wordings"
    folder.mkdir()
    row = {
        "wordings": ["We eat at six.", "dinner: six"],
        "near": [{"text": "We eat fish.", "relation": "related"}],
    }
    (folder / "mixed.jsonl").write_text(json.dumps(row), encoding="utf-8")

    found = [TASKS["relation"][one.labels["relation"][0]] for one in load(tmp_path)]

    assert found == ["same", "related", "related"]
