"""The page on security names tests that are there, for every promise."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "concepts" / "security.md").read_text("utf-8")


def test_every_promise_names_a_test_that_is_there() -> None:
    """A row without a test, or with one that has gone, is a promise that nobody keeps."""
    rows = [line.split("|") for line in PAGE.splitlines() if line.startswith("|")]
    promises = [row for row in rows if len(row) == 5 and row[1].strip() not in ("promise", "---")]
    assert len(promises) > 20
    for row in promises:
        named = re.findall(r"`(tests/[\w/.]+)`", row[2])
        assert named, f"no test is named for: {row[1].strip()}"
        assert all((ROOT / path).exists() for path in named), row[2]
