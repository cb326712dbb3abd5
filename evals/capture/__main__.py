"""
Run the measurements of capture that were asked for, or all of them.

Each lives in a module beside this one with `measure() -> list[row]`, a row per half.
"""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path

from evals.report import keep, show

NAMES = (
    "extraction",
    "affect",
    "pii",
    "injection",
    "entities",
    "topics",
    "filing",
    "blind_topics",
    "blind_names",
)


def main() -> None:
    """Measure, print a table each and keep the JSON."""
    parser = argparse.ArgumentParser(prog="python -m evals.capture")
    parser.add_argument("names", nargs="*", default=NAMES, help=f"any of {', '.join(NAMES)}")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    found = {}
    for name in arguments.names:
        found[name] = importlib.import_module(f"evals.capture.{name}").measure()
        show(name, found[name])
    print(f"\nWritten to {keep('capture', found, path=arguments.json)}")


if __name__ == "__main__":
    main()
