"""
Forgotten stays forgotten: what a person had forgotten does not come back by any other way in.

A fact is stated or said and then forgotten by the person. Afterwards it is told again, in the same words and
in others, by every way that is not the person's own. *Brought back*: a memory tells it, or the recall or
context of another session does (most words of a sentence that told it). Innocent statements on the same
subject must be stored as they are where nothing was forgotten. *Wordings*: of the paraphrase groups the first
one is forgotten, or erased, and an agent states the others and the near misses.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from msgspec import Struct

from engramdb import Engram, Scope, Settings, Source
from engramdb.errors import EngramError, StatementForgotten
from engramdb.exporting.export import line_of
from engramdb.text.sentences import sentences
from evals.beliefs.counting import Share, Tally
from evals.beliefs.telling import drain, progress, rows
from evals.beliefs.ways_in import IN_THE_USERS_NAME, WEAK_WAYS, SharedStore, WayIn, shared_store
from evals.report import holds

FIRST_SESSION = "first"
OPEN_QUESTION = "What do you know about me?"
BACK = "brought back"
WANTED: dict[str, Share] = {
    BACK: ("≤", 0.0),
    "words in the first session's window": ("≤", 0.0),
    "innocent ones lost": ("≤", 0.0),
}
EVERY_WAY: Mapping[str, WayIn] = WEAK_WAYS | IN_THE_USERS_NAME
LEAST_WORDS = 4
"""A shorter sentence tells nothing by itself."""
GROUP_SORTS = ("other wordings withheld", "near misses withheld")
FACT_SORTS = ("facts in other words withheld", "innocent ones withheld")
WITHHELD = frozenset({GROUP_SORTS[0], FACT_SORTS[0]})
"""What should be withheld."""
INNOCENT_WAYS = ("agent's remember", "assistant's turn", "import of rows")


class Return(Struct, frozen=True):
    """A forgotten fact, and what was told afterwards by which way."""

    way: str
    fact: str
    again: str
    scope: Scope
    form: str


def measure(half: str, _ways: Sequence[str], settings: Settings, limit: int) -> dict[str, dict[str, Tally]]:
    """Return one column for right after, and one for after a dream."""
    every = rows("doubles", half)[:limit]
    columns = {"told": Tally(), "after a dream": Tally()}
    with shared_store(settings) as store:
        returns = [*_returns(store, every), *_same_source(store, every)]
        innocent = list(_innocent(store, every))
        drain(store.person)
        for column, tally in columns.items():
            if column == "after a dream":
                store.person.dream()
            for one in returns:
                _note(store, one, tally)
            for here, control, words in innocent:
                is_lost = _tells(store.person, control, words) and not _tells(store.person, here, words)
                tally.note("innocent ones lost", is_lost, held=words)
        wordings = {name: _wordings(store, half, limit, name) for name in ("forgotten", "erased")}
    return {"doubles": columns, "wordings": wordings}


def _wordings(store: SharedStore, half: str, limit: int, gone: str) -> Tally:
    """Return how much of what says a forgotten or an erased fact, and of what does not, is withheld."""
    tally = Tally()
    remove = store.person.forget if gone == "forgotten" else store.person.erase
    groups = [
        (row["id"], row["wordings"][0], row["wordings"][1:], row["near"]) for row in rows("groups", half)
    ]
    facts = [(row["id"], row["fact"], row["again"], row["innocent"]) for row in rows("doubles", half)]
    for every, sorts in ((groups, GROUP_SORTS), (facts, FACT_SORTS)):
        for name, fact, same, others in every[:limit]:
            for sort, texts in zip(sorts, (same, others), strict=True):
                for number, words in enumerate(texts):
                    scope = Scope(user=f"{gone} {name} {sort} {number}")
                    remove(store.person.remember(fact, scope=scope).id, scope=scope)
                    store.clock.advance(minutes=1)
                    _note_withheld(store, scope, sort, (fact, words), tally)
    return tally


def _note_withheld(store: SharedStore, scope: Scope, sort: str, told: tuple[str, str], tally: Tally) -> None:
    """State a wording, as an agent, in a scope in which the fact was removed."""
    fact, words = told
    is_withheld = False
    try:
        store.agent.remember(words, source=Source.ASSISTANT, scope=scope)
    except StatementForgotten:
        is_withheld = True
    wanted, show = sort in WITHHELD, f"{fact!r} ← {words!r}"
    tally.note(sort, is_withheld, held="" if wanted else show, missed=show if wanted else "")


def _returns(store: SharedStore, every: Sequence[Mapping[str, Any]]) -> Iterator[Return]:
    for number, (name, way) in enumerate(EVERY_WAY.items()):
        progress("ways", number + 1, len(EVERY_WAY))
        for row in every:
            for place, words in enumerate((row["fact"], row["again"][number % len(row["again"])])):
                scope = Scope(user=f"{row['id']} {name} {place}")
                memory = store.person.remember(row["fact"], scope=scope)
                store.clock.advance(hours=1)
                store.person.forget(memory.id, reason="please forget that", scope=scope)
                store.clock.advance(hours=1)
                with suppress(EngramError):  # refused is not brought back
                    way(store, scope, words)
                form = "in other words" if place else "word for word"
                yield Return(name, row["fact"], words, scope, form)


def _same_source(store: SharedStore, every: Sequence[Mapping[str, Any]]) -> Iterator[Return]:
    """Yield facts that were said in a session, forgotten, and are read once more from where they came."""
    for row in every:
        scope = Scope(user=f"{row['id']} said")
        store.person.observe(row["fact"], role="user", session=FIRST_SESSION, scope=scope)
        store.person.flush(session=FIRST_SESSION, scope=scope)
        stored = store.person.list(scope=scope)
        exported = b"".join(line_of(one) for one in store.person.export(scope=scope))
        for memory in stored:
            store.person.forget(memory.id, reason="please forget that", scope=scope)
        if not stored:
            continue
        store.clock.advance(hours=1)
        with suppress(EngramError):
            store.agent.end_session(FIRST_SESSION, scope=scope)
        for name, content in (("back.jsonl", exported), ("log.jsonl", _log(store, row["fact"]))):
            path = store.folder / name
            path.write_bytes(content)
            with suppress(EngramError):
                store.person.import_from(
                    path, scope=scope, kind="engram" if name == "back.jsonl" else "jsonl"
                )
        yield Return("read again", row["fact"], row["fact"], scope, "word for word")


def _log(store: SharedStore, fact: str) -> bytes:
    said = {"content": fact, "role": "user", "session": FIRST_SESSION}
    return json.dumps(said | {"occurred_at": store.clock.now().isoformat()}).encode()


def _innocent(store: SharedStore, every: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Scope, Scope, str]]:
    """Yield innocent statements, told where something was forgotten and where nothing was."""
    for row in every:
        for name in INNOCENT_WAYS:
            for place, words in enumerate(row["innocent"]):
                here, control = (Scope(user=f"{row['id']} {name} {place} {side}") for side in "ab")
                memory = store.person.remember(row["fact"], scope=here)
                store.person.forget(memory.id, reason="please forget that", scope=here)
                store.clock.advance(minutes=10)
                for scope in (here, control):
                    with suppress(EngramError):
                        EVERY_WAY[name](store, scope, words)
                yield here, control, words


def _note(store: SharedStore, one: Return, tally: Tally) -> None:
    texts = (one.fact, one.again)
    in_list = _any_tells([memory.content for memory in store.person.list(scope=one.scope)], texts)
    answer = store.person.recall(one.again, scope=one.scope)
    hits, said = [hit.memory.content for hit in answer.hits], [turn.excerpt for turn in answer.said]
    in_recall = _any_tells([*hits, *said], texts)
    in_context = _in_window(store.person, one.scope, texts, session=None)
    is_back = in_list or in_recall or in_context
    tally.note(BACK, is_back, held=f"{one.way}: {one.fact!r} ← {one.again!r}")
    tally.note(f"{BACK} {one.form}", is_back)
    tally.note("in list", in_list)
    tally.note("in recall", in_recall)
    tally.note("in context", in_context)
    tally.note(f"{BACK} by {one.way}", is_back)
    if one.way == "read again":
        in_first = _in_window(store.person, one.scope, texts, session=FIRST_SESSION)
        tally.note("words in the first session's window", in_first, held=one.fact)


def _in_window(engram: Engram, scope: Scope, texts: Sequence[str], *, session: str | None) -> bool:
    window = engram.context(OPEN_QUESTION, session=session, scope=scope, budget=4000)
    shown = "\n".join((window.standing, window.conversation, window.present))
    return _any_tells(shown.splitlines(), texts)


def _any_tells(lines: Sequence[str], texts: Sequence[str]) -> bool:
    parts = [one for text in texts for one in sentences(text) if len(one.split()) >= LEAST_WORDS]
    return any(holds(line, part) for line in lines for part in parts or texts)


def _tells(engram: Engram, scope: Scope, words: str) -> bool:
    return _any_tells([memory.content for memory in engram.list(scope=scope)], (words,))
