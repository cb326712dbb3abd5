"""The memories of a scope that hold a secret, newest first, and no others."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from engramdb import Engram, Settings
from engramdb.testing import ManualClock
from engramdb.values import Filters, Scope

ADA = Scope(user="ada")


def test_they_are_those_that_a_scope_may_see_and_that_are_not_over(tmp_path: Path) -> None:
    """Neither what is harmless, of another user or forgotten, nor what has had its last day."""
    clock = ManualClock()
    settings = Settings(home=tmp_path, embedder="static", reader="rules")
    with Engram.open(tmp_path / "m.db", settings=settings, clock=clock, background=False) as engram:
        alarm = engram.remember("the alarm code is 471199").id
        engram.remember("the alarm is loud")
        engram.remember("the gate code is 52290", scope=ADA)
        gone = engram.remember("the shed code is 60414")
        engram.forget(gone.id)
        last = engram.remember(
            "the wifi password is Hunter2!x9", forget_after=clock.now() + timedelta(days=1)
        )

        def found(scope: Scope, *, limit: int = 9, days: int = 0) -> list[str]:
            with engram._parts.store.read() as tx:
                held = tx.memories.confidential(
                    scope=scope, filters=Filters(), limit=limit, alive_at=clock.now() + timedelta(days=days)
                )
            return [one.id for one in held]

        assert found(Scope()) == [last.id, alarm]
        assert len(found(ADA)) == 3
        assert found(Scope(), limit=1) == [last.id]
        assert found(Scope(), days=2) == [alarm]
