"""
The verbs for whoever listens in on a conversation that goes on elsewhere: keep each message once, read later.

Part of `Engram`; used by the hooks of agents. A message has the mark that an import of the same session log
would give it, so a log may be imported as well and adds nothing. Storing and reading are apart, because an
agent waits for the one and not for the other.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from engram import engine
from engram.capture.observe import observe
from engram.engine.handle import Handle
from engram.errors import SecurityError
from engram.store import contract
from engram.store.contract.parts import Tally
from engram.text.normal import clean, is_text
from engram.values import ImportKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from engram.portability.record import Message
    from engram.store.contract import Transaction
    from engram.values import Scope, Turn

TURNS_LOOKED_AT = 400
"""So many turns of a session are compared with what is heard of it."""


class Hearing(Handle):
    """Verbs that take in a conversation while it goes on."""

    def hear(
        self,
        messages: Sequence[Message],
        *,
        kind: ImportKind = ImportKind.CLAUDE_CODE,
        most_characters: int | None = None,
        is_logged: bool = True,
        scope: Scope | None = None,
    ) -> Sequence[Turn]:
        """
        Keep messages of one session, oldest first, each once, and return the turns that are new.

        They are durable when this returns; what they state is read out of them by `read_due` or `flush`. A
        message is known by its key, and also by its words where the session holds them already without that
        key: an agent tells of a prompt before its log does. Where nothing is logged (`is_logged`), only the
        key counts, so that the same words said later are kept too. One that cannot be stored is passed over,
        and of one that is too long for `most_characters` the beginning is kept.
        """
        place = self._in(scope)
        turns: list[Turn] = []
        if not messages:
            return turns
        marked = {engine.marks.mark_of(kind, one, place): _cut(one, most_characters) for one in messages}
        with self._parts.health.watch("write"), self._parts.store.atomic() as tx:
            noted = []
            held = _stored(tx, messages[0].session, place) if is_logged else {}
            for mark, message, twin in _unknown(tx, marked, held):
                turn = twin or self._heard_turn(message, place)
                if turn is None:
                    continue
                if twin is None:
                    turns.append(turn)
                noted.append(contract.Imported(mark=mark, kind=kind, place=message.place, turn_id=turn.id))
            tx.imports.add(noted, at=self._now())
        return turns

    def read_due(self, turns: Sequence[Turn]) -> None:
        """Read out of turns that `hear` has kept what is due: a strong signal, or enough that waits."""
        for turn in turns:
            self._listener.heard(turn)

    def note_success(self, part: str) -> None:
        """Note for `status` that a part outside the engine has worked; written when the store is closed."""
        with self._parts.health.watch(part):
            return

    def note_failures(self, part: str, *, count: int, last: datetime, why: str) -> None:
        """Note for `status` how often a part outside the engine has failed, when last, and why then."""
        tally = Tally(name=part, last_failure=last, failure=why, failures=count)
        with self._parts.store.atomic() as tx:
            tx.parts.add(tally)

    def _heard_turn(self, message: Message, place: Scope) -> Turn | None:
        """Store a message as a turn; None for one that no policy admits, such as an empty one."""
        try:
            return observe(
                message.content,
                role=message.role,
                speaker=message.speaker,
                session=message.session,
                occurred_at=message.occurred_at,
                scope=place,
                store=self._parts.store,
                policy=self._parts.policy.capture,
                actor=self._actor,
                now=self._now(),
            )
        except SecurityError:
            return None


def _unknown(
    tx: Transaction, marked: Mapping[bytes, Message], held: Mapping[tuple[str, str], Sequence[Turn]]
) -> Iterator[tuple[bytes, Message, Turn | None]]:
    """
    Yield the messages whose marks are not known, each with the turn that holds its words already.

    Turns and messages of the same words are paired off by number: a person may well say "yes" twice.
    """
    known = tx.imports.known(list(marked))
    spoken_for = Counter(_words(message) for mark, message in marked.items() if mark in known)
    for mark, message in marked.items():
        if mark in known:
            continue
        words = _words(message)
        twins = held.get(words, ())
        is_held = len(twins) > spoken_for[words]
        yield mark, message, twins[spoken_for[words]] if is_held else None
        spoken_for[words] += is_held


def _stored(tx: Transaction, session: str | None, place: Scope) -> Mapping[tuple[str, str], Sequence[Turn]]:
    """Return the latest turns of a session by who said what."""
    found: defaultdict[tuple[str, str], list[Turn]] = defaultdict(list)
    if session is not None:
        for turn in tx.turns.list(scope=place, session=session, limit=TURNS_LOOKED_AT):
            found[_words(turn)].append(turn)
    return found


def _cut(message: Message, most: int | None) -> Message:
    return message if most is None else replace(message, content=message.content[:most])


def _words(said: Message | Turn) -> tuple[str, str]:
    """Return who said what, as it is compared: without regard to blanks and to what is never stored."""
    content = clean(said.content) if is_text(said.content) else said.content
    return said.role, " ".join(content.split())
