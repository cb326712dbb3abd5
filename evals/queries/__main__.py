"""
Run the measurements of queries that were asked for, or all of them.

Each lives in a module beside this one with `measure() -> list[row]`; a new one needs no entry here.
"""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path

from evals.report import keep, show

_NOT_MEASUREMENTS = ("__init__", "__main__")
NAMES = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem not in _NOT_MEASUREMENTS)


def main() -> None:
    """Measure, print a table each and keep the JSON."""
    parser = argparse.ArgumentParser(prog="python -m evals.queries")
    parser.add_argument("names", nargs="*", default=NAMES, help=f"any of {', '.join(NAMES)}")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    found = {}
    for name in arguments.names:
        found[name] = importlib.import_module(f"evals.queries.{name}").measure()
        show(name, found[name])
    print(f"\nWritten to {keep('queries', found, path=arguments.json)}")


if __name__ == "__main__":
    main()
