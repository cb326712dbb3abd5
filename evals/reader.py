"""
How well texts are read and pairs are judged, through the readers that the engine uses, beside the rules.

    python -m evals.reader [--data training/held_out] [--readers rules head pack]

Text that nothing was trained on (docs/reference/reader.md). A conflict or a repetition counts as found where
the reader may act on it, not where it is merely the likeliest. Shares come with Wilson's 95 % interval.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np

from engramdb.capture.rules_reader import RulesReader
from engramdb.engine.assemble import statement_likeness
from engramdb.errors import InjectionBlocked
from engramdb.lifecycle.rules_judge import RulesJudge
from engramdb.models.reader import Judge, Reader, Utterance
from engramdb.models.reader_head import HeadReader
from engramdb.models.registry import open_reader
from engramdb.policy import CapturePolicy
from engramdb.settings import Settings
from engramdb.values.reading import PairJudgment, PairRelation, Reading
from training.examples import load
from training.report import area_under_curve, interval
from training.tasks import HARMLESS, TASKS, Example

FOLDER = Path(__file__).parents[1] / "training" / "held_out"
READERS = ("rules", "head", "pack")
NO_VIEW = PairJudgment.certain(PairRelation.RELATED, by="nobody")

Lines: TypeAlias = dict[str, str]


class Tally:
    """Right and wrong, found and missed."""

    def __init__(self) -> None:
        self._seen: list[tuple[bool, bool]] = []

    def add(self, *, is_found: bool, is_right: bool) -> None:
        """Note one case."""
        self._seen.append((is_found, is_right))

    def precision(self) -> str:
        """Return how many of those found are right."""
        found = [right for is_found, right in self._seen if is_found]
        return interval(sum(found), len(found))

    def recall(self) -> str:
        """Return how many of the right ones are found."""
        right = [is_found for is_found, is_right in self._seen if is_right]
        return interval(sum(right), len(right))

    def false_alarms(self) -> str:
        """Return how many of the others are found."""
        wrong = [is_found for is_found, is_right in self._seen if not is_right]
        return interval(sum(wrong), len(wrong))


def read_all(reader: Reader, examples: Sequence[Example]) -> Lines:
    """Return how well single texts are read."""
    tallies: defaultdict[str, Tally] = defaultdict(Tally)
    exact: defaultdict[str, list[bool]] = defaultdict(list)
    spent = 0.0
    for one in examples:
        begun = time.process_time()
        (reading,) = reader.read([_utterance(one)])
        spent += time.process_time() - begun
        _compare(reading, one, tallies, exact)
    lines = {"processor time a text": f"{1000 * spent / len(examples):.1f} ms"}
    for task in ("keep", "hostile"):
        lines[f"{task}: precision"] = tallies[task].precision()
        lines[f"{task}: recall"] = tallies[task].recall()
        lines[f"{task}: false alarms"] = tallies[task].false_alarms()
    for task, hits in exact.items():
        lines[f"{task}: accuracy"] = interval(sum(hits), len(hits))
    return lines


def _utterance(example: Example) -> Utterance:
    by, _, text = example.first.partition(": ")
    return Utterance(text, by, example.second)


def _compare(
    reading: Reading, example: Example, tallies: dict[str, Tally], exact: dict[str, list[bool]]
) -> None:
    flags = {"keep": reading.is_kept, "hostile": reading.is_hostile}
    words = {"force": reading.force, "lasting": reading.lasting, "category": reading.category}
    for task, right in example.labels.items():
        if len(right) > 1:
            continue  # the two who labelled it did not agree
        label = TASKS[task][right[0]]
        if task in flags:
            tallies[task].add(is_found=bool(flags[task]), is_right=label == "yes")
        elif task in words and words[task] is not None:
            exact[task].append(str(words[task]) == label)


def judge_all(judge: Judge, examples: Sequence[Example]) -> Lines:
    """Return how well pairs of statements are judged."""
    tallies: defaultdict[str, Tally] = defaultdict(Tally)
    harmless: list[tuple[bool, bool]] = []
    exact: list[bool] = []
    spent = 0.0
    for one in examples:
        begun = time.process_time()
        view = _view(judge, one)
        spent += time.process_time() - begun
        names = [TASKS["relation"][number] for number in one.labels["relation"]]
        if set(names) <= set(HARMLESS):
            harmless.append((view.is_conflict, view.is_same))
        if len(names) == 1:
            tallies["conflict"].add(is_found=view.is_conflict, is_right=names[0] == "conflict")
            tallies["same"].add(is_found=view.is_same, is_right=names[0] == "same")
            exact.append(view.relation == names[0])
    lines = {"processor time a pair": f"{1000 * spent / len(examples):.1f} ms"}
    for name, tally in tallies.items():
        lines[f"{name}: precision"] = tally.precision()
        lines[f"{name}: recall"] = tally.recall()
    for place, name in enumerate(("conflict", "same")):
        lines[f"harmless pairs judged {name}"] = interval(sum(one[place] for one in harmless), len(harmless))
    lines["relation: accuracy"] = interval(sum(exact), len(exact))
    return lines


def _view(judge: Judge, example: Example) -> PairJudgment:
    old, new = (Utterance(*reversed(text.split(": ", 1))) for text in (example.first, example.second))
    try:
        return next(iter(judge.relate(new, [old])), None) or NO_VIEW
    except InjectionBlocked:  # the rules refuse to look at it
        return NO_VIEW


def answer_all(judge: Judge, examples: Sequence[Example]) -> Lines:
    """Return how well memories that answer are told from those that do not."""
    scores, kinds = [], []
    for one in examples:
        question, memory = (text.split(": ", 1)[1] for text in (one.first, one.second))
        scores.append(judge.answers(question, [memory])[0])
        kinds.append(one.kind)
    found, kind = np.array(scores), np.array(kinds)
    lines = {}
    for miss in ("near", "far"):
        chosen = (kind == "hit") | (kind == miss)
        area = area_under_curve(found[chosen], kind[chosen] == "hit")
        lines[f"answers: AUC against {miss} misses"] = f"{area:.3f} (n={int(chosen.sum())})"
    return lines


def main() -> None:
    """Print one table, a column for each reader."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=FOLDER)
    parser.add_argument("--readers", nargs="*", choices=READERS, default=list(READERS))
    parser.add_argument("--domains", nargs="*", help="only these folders")
    arguments = parser.parse_args()
    examples = [one for one in load(arguments.data) if one.kind != "implied"]
    if arguments.domains:
        examples = [one for one in examples if one.domain.partition("/")[0] in arguments.domains]
    columns = {name: _measure(name, examples) for name in arguments.readers}
    print(*_table(columns), sep="\n")


def _measure(name: str, examples: Sequence[Example]) -> Lines:
    reader, judge = _open(name)
    texts = [one for one in examples if one.kind in ("reading", "scan")]
    pairs = [one for one in examples if "relation" in one.labels]
    questions = [one for one in examples if "answers" in one.labels and one.group is not None]
    lines = read_all(reader, texts) if texts else {}
    if judge is not None:
        lines |= judge_all(judge, pairs) if pairs else {}
        lines |= answer_all(judge, questions) if questions else {}
    return lines


def _open(name: str) -> tuple[Reader, Judge | None]:
    if name == "rules":
        return RulesReader(), RulesJudge(CapturePolicy(), statement_likeness())
    if name == "head":
        return HeadReader(), None
    pack = open_reader(Settings.load().home)
    return pack, pack


def _table(columns: dict[str, Lines]) -> Iterable[str]:
    yield f"| measure | {' | '.join(columns)} |"
    yield "|---" * (len(columns) + 1) + "|"
    measures = dict.fromkeys(measure for lines in columns.values() for measure in lines)
    for measure in measures:
        yield f"| {measure} | {' | '.join(lines.get(measure, '–') for lines in columns.values())} |"


if __name__ == "__main__":
    main()
