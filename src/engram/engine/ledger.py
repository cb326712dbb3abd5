"""
Keep in the store how each part fares and what the chat model has cost, so that a restart forgets neither.

Held by the engine; written when it closes, when `status` is asked for, and twice a minute where it works in
the background. What cannot be written is not worth an error: the parts say themselves what fails.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from engram.errors import StorageError
from engram.providers.usage import Usage
from engram.store.contract.parts import Tally
from engram.values import PartHealth

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from engram.engine.health import Health
    from engram.providers.usage import CallLog
    from engram.store.contract import Store

PURPOSE = "chat: "
"""How the name begins under which a purpose of the chat model is kept."""


class Ledger:
    """What this process has to add to the store's own account of its parts."""

    def __init__(self, store: Store, health: Health, calls: CallLog) -> None:
        self._store = store
        self._health = health
        self._calls = calls
        self._lock = threading.Lock()
        self._parts: dict[str, PartHealth] = {}
        self._usage: dict[str, Usage] = {}

    def keep(self) -> None:
        """Add what happened since the last time to the store, if it can be written."""
        with self._lock, suppress(StorageError):
            parts = {part.name: part for part in self._health.parts()}
            usage = self._calls.by_purpose()
            fresh = [*self._fresh_parts(parts), *self._fresh_usage(usage)]
            if not fresh:
                return
            with self._store.atomic() as tx:
                for tally in fresh:
                    tx.parts.add(tally)
            self._parts, self._usage = parts, usage

    def all_parts(self) -> tuple[PartHealth, ...]:
        """Return how every part fared last, in whichever process."""
        with self._store.read() as tx:
            kept = [one for one in tx.parts.list() if not one.name.startswith(PURPOSE)]
        return tuple(
            PartHealth(
                name=one.name,
                last_success=one.last_success,
                last_failure=one.last_failure,
                failure=one.failure,
                failures=one.failures,
            )
            for one in kept
        )

    def spent(self) -> Mapping[str, Mapping[str, float]]:
        """Return what the chat model was asked so far, in whichever process, by purpose."""
        with self._store.read() as tx:
            kept = [one for one in tx.parts.list() if one.name.startswith(PURPOSE)]
        return {
            one.name.removeprefix(PURPOSE): {
                "calls": one.calls,
                "failures": one.failures,
                "input_tokens": one.input_tokens,
                "output_tokens": one.output_tokens,
                "milliseconds": one.milliseconds,
            }
            for one in kept
        }

    def _fresh_parts(self, parts: Mapping[str, PartHealth]) -> Iterator[Tally]:
        for name, part in parts.items():
            before = self._parts.get(name, PartHealth(name=name))
            if part != before:
                yield Tally(
                    name=name,
                    last_success=part.last_success,
                    last_failure=part.last_failure,
                    failure=part.failure,
                    failures=part.failures - before.failures,
                )

    def _fresh_usage(self, usage: Mapping[str, Usage]) -> Iterator[Tally]:
        for purpose, total in usage.items():
            before = self._usage.get(purpose, Usage())
            if replace(total, last_error=None) != replace(before, last_error=None):
                yield Tally(
                    name=f"{PURPOSE}{purpose}",
                    failures=total.failures - before.failures,
                    calls=total.calls - before.calls,
                    input_tokens=total.input_tokens - before.input_tokens,
                    output_tokens=total.output_tokens - before.output_tokens,
                    milliseconds=total.milliseconds - before.milliseconds,
                )
