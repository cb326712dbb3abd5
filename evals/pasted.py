"""
Whose words? Own and foreign spans of messages into which people put mails, pages, logs, code and drafts.

    python -m evals.pasted [--sealed] [--observe] [--misses] [--json FILE]

The messages were written blind (evals/pasted): each names spans that are the writer's own and spans that
would be wrong as the writer's. *Foreign*: the span lies wholly in segments that are not own, or inside a
quotation within an own sentence. *Own*: the span lies wholly in one own segment. Beside it a baseline that
drops fenced blocks, lines that begin with `>` and lines that look like code, and takes the rest as own. With
`--observe`, through the engine: which foreign spans are then held by a memory that the engine believes to be
the writer's own statement, and which by one that states a claim about somebody or sets a rule.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

from engramdb import Engram, Scope, Settings
from engramdb.text.line_shapes import LineShape, shape_of
from engramdb.text.quotations import quotations
from engramdb.text.segments import segments
from engramdb.values import Voice
from evals.report import holds, keep, show

DATA = Path(__file__).parent / "pasted"
Span: TypeAlias = tuple[int, int]
Cut: TypeAlias = Callable[[str], tuple[list[Span], list[Span]]]


def by_segments(text: str) -> tuple[list[Span], list[Span]]:
    """Return the own and the foreign stretches that segmentation finds."""
    found = segments(text)
    own = [(one.start, one.end) for one in found if one.voice is Voice.OWN]
    quoted = [
        (one.start + start, one.start + end)
        for one in found
        if one.voice is Voice.OWN
        for start, end in quotations(one.text)
    ]
    return own, [(one.start, one.end) for one in found if one.voice is not Voice.OWN] + quoted


def by_lines(text: str) -> tuple[list[Span], list[Span]]:
    """Return the same by the simplest rule: fences, quote marks and lines that look like code."""
    own: list[Span] = []
    foreign: list[Span] = []
    start, is_fenced = 0, False
    for line in text.splitlines(keepends=True):
        is_fence = line.lstrip().startswith(("```", "~~~"))
        is_marked = shape_of(line) in (LineShape.QUOTE, LineShape.CODE, LineShape.LOG)
        (foreign if is_fenced or is_fence or is_marked else own).append((start, start + len(line)))
        is_fenced ^= is_fence
        start += len(line)
    return _joined(own), foreign


def _joined(spans: Iterable[Span]) -> list[Span]:
    joined: list[Span] = []
    for start, end in spans:
        if joined and joined[-1][1] == start:
            joined[-1] = joined[-1][0], end
        else:
            joined.append((start, end))
    return joined


def is_own(text: str, words: str, own: list[Span]) -> bool:
    """Return whether the words lie in one own stretch."""
    return any(
        start <= place and place + len(words) <= end for place in _places(text, words) for start, end in own
    )


def is_foreign(text: str, words: str, foreign: list[Span]) -> bool:
    """Return whether every character of the words, wherever they stand, lies in foreign stretches."""
    outside = set(range(len(text))) - {place for span in foreign for place in range(*span)}
    return not any(
        place in outside and not text[place].isspace()
        for start in _places(text, words)
        for place in range(start, start + len(words))
    )


def _places(text: str, words: str) -> Iterator[int]:
    place = text.find(words)
    while place >= 0:
        yield place
        place = text.find(words, place + 1)


def measure(cases: list[dict[str, Any]], cut: Cut, *, shows_misses: bool = False) -> list[dict[str, Any]]:
    """Return a row for each kind of message and one for all."""
    hits: defaultdict[str, dict[str, list[bool]]] = defaultdict(lambda: {"foreign": [], "own": []})
    for case in cases:
        text = case["text"]
        own, foreign = cut(text)
        found = {
            "foreign": [is_foreign(text, words, foreign) for words in case["foreign"]],
            "own": [is_own(text, words, own) for words in case["own"]],
        }
        for side, marks in found.items():
            for kind in (case["kind"], "all"):
                hits[kind][side] += marks
            if shows_misses:
                for words, is_right in zip(case[side], marks, strict=True):
                    if not is_right:
                        print(f"missed {side} ({case['kind']}): {words}\n    {text!r}")
    kinds = sorted(hits, key=lambda kind: (kind == "all", kind))
    return [
        {"kind": kind} | {side: _share(hits[kind][side]) for side in ("foreign", "own")} for kind in kinds
    ]


def _share(marks: list[bool]) -> str:
    return f"{sum(marks)}/{len(marks)}" if marks else ""


def observed(cases: list[dict[str, Any]], settings: Settings) -> dict[str, str]:
    """Return how many foreign spans, and how many messages with one, the engine takes for the writer's."""
    believed: list[bool] = []
    stated: list[bool] = []
    messages: list[bool] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        Engram.open(Path(folder) / "memory.db", settings=settings, background=False) as engram,
    ):
        for number, case in enumerate(case for case in cases if case["foreign"]):
            scope = Scope(user=f"writer {number}")
            engram.observe(case["text"], session="s", scope=scope)
            engram.flush()
            own = [one for one in engram.list(limit=200, scope=scope) if one.is_believed]
            held = [[one for one in own if holds(one.content, words)] for words in case["foreign"]]
            believed += [bool(one) for one in held]
            stated += [any(memory.claims or memory.is_rule for memory in one) for one in held]
            messages.append(any(held))
    return {
        "foreign spans believed to be own": _share(believed),
        "… with a claim or as a rule": _share(stated),
        "messages with one": _share(messages),
    }


def read(name: str) -> list[dict[str, Any]]:
    """Return the messages of one half."""
    lines = (
        line for path in sorted(DATA.glob(f"{name}*.jsonl")) for line in path.read_text("utf-8").splitlines()
    )
    return [json.loads(line) for line in lines if line]


def main() -> None:
    """Measure, print the tables and keep the JSON."""
    parser = argparse.ArgumentParser(prog="python -m evals.pasted", description=__doc__.split("\n")[1])
    parser.add_argument("--sealed", action="store_true")
    parser.add_argument("--observe", action="store_true", help="through the engine as well")
    parser.add_argument("--misses", action="store_true", help="print every span that is taken wrongly")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    half = "sealed" if arguments.sealed else "open"
    cases = read(half)
    rows = measure(cases, by_segments, shows_misses=arguments.misses)
    baseline = measure(cases, by_lines)
    show(f"Segments, {half} half ({len(cases)} messages)", rows)
    show("Lines alone", baseline[-1:])
    if arguments.observe:
        show("Through observe", [observed(cases, Settings.load(embedder="static"))])
    print(f"\nWritten to {keep('pasted', {'rows': rows, 'baseline': baseline}, path=arguments.json)}")


if __name__ == "__main__":
    main()
