"""What an export called private is at least as private after it is imported."""

from __future__ import annotations

from pathlib import Path

import pytest

from engramdb import Engram, Settings
from engramdb.exporting.export import line_of
from engramdb.values import SecurityTier

SECRET, PLAIN = "to get on the wifi at mum's: maple-Tractor-88", "Nora likes tea"


def opened(folder: Path, home: Path, reader: str = "auto") -> Engram:
    """Open a store in a folder."""
    settings = Settings(home=home, reader=reader, embedder="static")
    return Engram.open(folder / "memory.db", settings=settings, background=False)


@pytest.fixture
def exported(e5_home: Path, tmp_path: Path) -> Path:
    """An export with everything in it, of a store whose secret only the guard model found."""
    path = tmp_path / "all.jsonl"
    with opened(tmp_path, e5_home) as engram:
        engram.remember(SECRET)
        engram.remember(PLAIN)
        path.write_bytes(b"".join(map(line_of, engram.export(tiers=list(SecurityTier)))))
    return path


def test_no_import_lowers_a_tier(exported: Path, tmp_path: Path) -> None:
    """Where no model tells again where the secret stands, the whole of it is masked, also after a while."""
    (tmp_path / "other").mkdir()
    with opened(tmp_path / "other", tmp_path, reader="rules") as engram:
        engram.import_from(exported)
        engram.enrich()

        tiers = {one.content: one.security for one in engram.list(reveal=True)}
        shown = str(engram.list()) + str(engram.recall("what is at mum's?")) + engram.context("wifi").text

    assert tiers == {SECRET: SecurityTier.CONFIDENTIAL, PLAIN: SecurityTier.CLEARTEXT}
    assert "maple" not in shown.lower()
    assert "Nora" in shown


def test_an_export_says_what_it_kept_out_and_audits_what_it_gave(tmp_path: Path) -> None:
    """A secret that was left out was not revealed."""
    withheld: list[str] = []
    with opened(tmp_path, tmp_path) as engram:
        secret = engram.remember("the wifi password is Hunter2!x9")
        engram.remember(PLAIN)

        given = list(engram.export(note_withheld=withheld.append))
        (row,) = [one for one in engram.audit(limit=20) if one.action == "export"]

    assert [one.memory.content for one in given] == [PLAIN]
    assert withheld == [secret.id]
    assert row.detail["results"] == 1
    assert not row.detail.get("revealed")
