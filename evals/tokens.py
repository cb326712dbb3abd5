"""
How far is the token estimate from the truth, and how far above it must a budget reckon?

    python -m evals.tokens [--data FILE] [--messages FOLDER] [--wheels FOLDER] [--fit] [--json FILE]

Counts texts of many kinds with exact tokenizers and with ours, and reports the half that was not fitted.
`--data` adds chat, a file of LoCoMo's form; `--messages` a folder of gettext catalogues; `--wheels` vendors'
tokenizers beyond o200k and cl100k (see `token_wheels`). `--fit` fits the tune half first and writes
src/engramdb/text/token_ratios.py, with a column for each tokenizer that is there.
"""

from __future__ import annotations

import argparse
import inspect
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from engramdb.models.capabilities import EXACT, exact_counter
from engramdb.text.tokens import TOKENIZERS, count_tokens, most_tokens
from evals import token_fit
from evals.capture.labelled import half_of
from evals.report import keep, show
from evals.token_samples import RARE, samples
from evals.token_wheels import wheel_counters

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Count = Callable[[str], int]

PASSAGE_TOKENS = 50
"""From how many tokens on the bound is held to its promise."""


def halves(texts: Mapping[str, Sequence[str]]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return the tune half and the half that is reported, by kind."""
    tune = {kind: [one for one in some if half_of(one) == "tune"] for kind, some in texts.items()}
    held = {kind: [one for one in some if half_of(one) == "held out"] for kind, some in texts.items()}
    return tune, held


def by_kind(texts: Mapping[str, Sequence[str]], tokenizer: str, count: Count) -> list[dict[str, Any]]:
    """Return a row per kind of text, and one for all without the messages, which outnumber the others."""
    errors = {kind: _errors(some, tokenizer, count) for kind, some in texts.items()}
    rows = [_row(kind, found) for kind, found in errors.items() if len(found)]
    usual = [found for kind, found in errors.items() if not kind.startswith("messages")]
    return [*rows, _row("all but messages", np.concatenate(usual))]


def _errors(texts: Sequence[str], tokenizer: str, count: Count) -> np.ndarray[Any, np.dtype[np.float64]]:
    pairs = [(count_tokens(text, tokenizer), count(text)) for text in texts]
    return np.array([(about - exact) / exact for about, exact in pairs if exact])


def _row(kind: str, errors: np.ndarray[Any, np.dtype[np.float64]]) -> dict[str, Any]:
    off = np.abs(errors)
    return {
        "texts": kind,
        "samples": len(errors),
        "mean error": f"{off.mean():.1%}",
        "95 %": f"{np.quantile(off, 0.95):.1%}",
        "bias": f"{errors.mean():+.1%}",
    }


def flat(texts: Mapping[str, Sequence[str]], count: Count) -> list[dict[str, Any]]:
    """Return what a flat four characters a token, as most programs have it, would be off."""
    rows = []
    for kind, some in texts.items():
        pairs = [(len(text) / 4, count(text)) for text in some]
        rows.append(_row(kind, np.array([(about - exact) / exact for about, exact in pairs if exact])))
    return rows


def passages(texts: Mapping[str, Sequence[str]], count: Count) -> dict[str, list[str]]:
    """Return the texts of each kind, neighbours joined until they have tokens enough for the bound."""
    found: dict[str, list[str]] = {}
    for kind, some in texts.items():
        waiting: list[str] = []
        for text in some:
            waiting.append(text)
            if sum(map(count, waiting)) >= PASSAGE_TOKENS:
                found.setdefault(kind, []).append("\n".join(waiting))
                waiting = []
    return found


def bound(texts: Mapping[str, Sequence[str]], tokenizer: str, count: Count) -> list[dict[str, Any]]:
    """Return by kind how many passages are above the bound, and how much room it leaves unused."""
    rows, above, whole = [], 0, 0
    for kind, some in passages(texts, count).items():
        used = np.array([count(text) / most_tokens(text, tokenizer) for text in some])
        above, whole = above + int((used > 1).sum()), whole + len(used)
        rows.append(
            {
                "texts": kind,
                "passages": len(used),
                "above": int((used > 1).sum()),
                "worst": f"{used.max() - 1:+.1%}",
                "bound filled, mean": f"{used.mean():.1%}",
            }
        )
    return [*rows, {"texts": "all", "passages": whole, "above": above, "share": f"{above / whole:.3%}"}]


def speed(texts: Mapping[str, Sequence[str]], exact: Count) -> list[dict[str, Any]]:
    """Return the processor time of one text: by estimate, with its words new and known, and exactly."""
    rows = []
    for kind, some in texts.items():
        few = some[:300]
        row: dict[str, Any] = {"texts": kind, "characters": sum(map(len, few)) // len(few)}
        estimate = inspect.unwrap(count_tokens)  # without what it keeps
        for name, count in (("first µs", estimate), ("again µs", estimate), ("exact µs", exact)):
            begun = time.process_time()
            for text in few:
                count(text)
            row[name] = round(1e6 * (time.process_time() - begun) / len(few), 1)
        rows.append(row)
    return rows


def fitted(texts: Mapping[str, Sequence[str]], counters: Mapping[str, Count]) -> Path:
    """Fit every counter on these texts, write the costs, and return where."""
    found = {}
    for name, count in counters.items():
        costs = token_fit.fit(texts, count)
        joined = [one for kind, some in passages(texts, count).items() if kind != RARE for one in some]
        found[name] = (costs, token_fit.margins(joined, costs, count))
        print(f"{name}: margins {found[name][1]}")
    return token_fit.write(found)


def main() -> None:
    """Fit if asked to; measure, print the tables and keep the JSON."""
    parser = argparse.ArgumentParser(prog="python -m evals.tokens", description=__doc__.split("\n")[1])
    parser.add_argument("--data", type=Path, help="chat: a file of LoCoMo's form")
    parser.add_argument("--messages", type=Path, help="a folder of gettext catalogues")
    parser.add_argument("--wheels", type=Path, help="a folder of packages with vendors' tokenizers")
    parser.add_argument(
        "--fit", action="store_true", help="fit the tune half and write the costs; then run again"
    )
    parser.add_argument("--json", type=Path, help="where to write the numbers")
    arguments = parser.parse_args()
    counters: dict[str, Count] = {name: exact_counter(name).count for name in EXACT}
    if arguments.wheels:
        counters |= {name: cache(count) for name, count in wheel_counters(arguments.wheels).items()}
    tune, held = halves(samples(chat=arguments.data, messages=arguments.messages))
    if arguments.fit:
        print(f"Written to {fitted(tune, counters)}; run again without --fit to measure.")
        return
    usual = counters["o200k"]
    found: dict[str, Any] = {"Four characters a token": flat(held, usual), "Speed": speed(held, usual)}
    for name in (name for name in TOKENIZERS if name in counters):
        found[f"Estimate against {name}"] = by_kind(held, name, counters[name])
        found[f"Bound against {name}"] = bound(held, name, counters[name])
    for title, rows in found.items():
        show(title, rows)
    print(f"\nWritten to {keep('tokens', found, path=arguments.json)}")


if __name__ == "__main__":
    main()
