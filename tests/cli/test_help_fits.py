"""The lists of commands in `--help` end their sentences, on a terminal of eighty columns too."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from engramdb.cli.main import app


@pytest.mark.parametrize("group", ["", "notebook", "token", "models", "policy"])
def test_no_sentence_of_the_help_is_cut_off(monkeypatch: pytest.MonkeyPatch, group: str) -> None:
    """A sentence that is too long is shown to the end of its first clause."""
    monkeypatch.setenv("COLUMNS", "80")

    told = CliRunner().invoke(app, [*group.split(), "--help"]).stdout

    listed = [line for line in told.splitlines() if line.startswith("  ") and not line.startswith("  -")]
    assert [line for line in listed if line.endswith("...")] == []
