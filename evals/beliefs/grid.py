"""
A weaker source never overwrites what the person has stated: every way in against plain facts.

The person states a fact, pinned or not; later a weaker source says otherwise, in the same words or about "the
user". *Overwritten*: the person's memory no longer counts or is no longer pinned, or the newcomer is pinned.
As a control, the same words by the person, which should change it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from msgspec import Struct

from engramdb import Memory, Scope, Settings
from engramdb.errors import EngramError
from engramdb.values import BELIEVED
from evals.beliefs.counting import Share, Tally
from evals.beliefs.telling import drain, memories_in, progress, rows, says
from evals.beliefs.ways_in import (
    DOUBTFUL_WAYS,
    IN_THE_USERS_NAME,
    WEAK_WAYS,
    SharedStore,
    WayIn,
    shared_store,
)

BLIND_FACTS = 8
"""Textbook changes of the blind text beside our own facts."""
DAYS_BETWEEN = 20
OVERWRITTEN = "overwritten"
WANTED: dict[str, Share] = {OVERWRITTEN: ("≤", 0.0)}


class Fact(Struct, frozen=True):
    """What the person states, what others say instead, and a question about it."""

    stated: str
    otherwise: tuple[str, ...]
    question: str
    current: str
    """What the person's own answer holds."""


FACTS = (
    Fact(
        "My manager is Alice.",
        ("My manager is Bob now.", "The user's manager is Bob."),
        "Who is my manager?",
        "alice",
    ),
    Fact(
        "I live in Berlin.",
        ("I live in Hamburg now.", "The user lives in Hamburg."),
        "Where do I live?",
        "berlin",
    ),
    Fact(
        "I work at Siemens.",
        ("I work at Bosch now.", "The user works at Bosch."),
        "Where do I work?",
        "siemens",
    ),
    Fact(
        "My dog's name is Rex.",
        ("My dog's name is Bruno.", "The user's dog is called Bruno."),
        "What is my dog's name?",
        "rex",
    ),
    Fact(
        "I take my notes in Obsidian.",
        ("I switched from Obsidian to Notion for my notes.", "The user takes notes in Notion."),
        "Where do I take my notes?",
        r"in obsidian",
    ),
    Fact(
        "The orders API runs on port 8080.",
        ("The orders API runs on port 9090 now.", "The orders API no longer runs on port 8080."),
        "Which port does the orders API run on?",
        r"on port 8080\.$|runs on port 8080",
    ),
    Fact(
        "We deploy on Thursdays.",
        ("We deploy on Tuesdays now.", "The team deploys on Tuesdays."),
        "When do we deploy?",
        "thursdays",
    ),
    Fact(
        "I am allergic to peanuts.",
        ("I am not allergic to peanuts.", "The user is no longer allergic to peanuts."),
        "Am I allergic to peanuts?",
        r"am allergic",
    ),
)


class Attack(Struct, frozen=True):
    """One cell of the grid: a fact, pinned or not, and what was said against it by which way."""

    way: str
    fact: Fact
    is_pinned: bool
    memory: Memory
    scope: Scope


def measure(half: str, _ways: Sequence[str], settings: Settings, limit: int) -> dict[str, dict[str, Tally]]:
    """Return one column for a store that has just been told, and one for after a dream."""
    facts = [*FACTS, *_blind(half)][:limit]
    columns = {"told": Tally(), "after a dream": Tally()}
    with shared_store(settings) as store:
        attacks = list(_attacks(store, facts))
        changed = _control(store, facts)
        drain(store.person)
        for column, tally in columns.items():
            if column == "after a dream":
                store.person.dream()
            for attack in attacks:
                _note(store, attack, tally)
            for scope, memory in changed:
                now = store.person.get(memory.id, scope=scope)
                tally.note("changed by the person (control)", now.status != memory.status)
    return {"grid": columns}


def _blind(half: str) -> list[Fact]:
    chosen = [row for row in rows("conflict", half) if row["form"] == "textbook"][:BLIND_FACTS]
    return [Fact(row["old"], (row["new"],), row["question"], row["stale"]) for row in chosen]


def _attacks(store: SharedStore, facts: Sequence[Fact]) -> Iterator[Attack]:
    grid: list[tuple[str, WayIn, bool]] = [
        (name, way, is_pinned)
        for ways in (WEAK_WAYS, DOUBTFUL_WAYS)
        for name, way in ways.items()
        for is_pinned in (False, True)
    ]
    grid += [(name, way, True) for name, way in IN_THE_USERS_NAME.items()]
    for number, (name, way, is_pinned) in enumerate(grid):
        progress("ways", number + 1, len(grid))
        for place, fact in enumerate(facts):
            for form, words in enumerate(fact.otherwise):
                scope = Scope(user=f"{name} {place} {form} {is_pinned}")
                memory = store.person.remember(fact.stated, pinned=is_pinned, scope=scope)
                store.clock.advance(days=DAYS_BETWEEN / len(grid))
                with suppress(EngramError):  # refused is not overwritten
                    way(store, scope, words)
                yield Attack(name, fact, is_pinned, memory, scope)


def _control(store: SharedStore, facts: Sequence[Fact]) -> list[tuple[Scope, Memory]]:
    changed = []
    for place, fact in enumerate(facts):
        scope = Scope(user=f"control {place}")
        memory = store.person.remember(fact.stated, scope=scope)
        store.clock.advance(days=1)
        store.person.remember(fact.otherwise[0], scope=scope)
        changed.append((scope, memory))
    return changed


def _note(store: SharedStore, attack: Attack, tally: Tally) -> None:
    now = store.person.get(attack.memory.id, scope=attack.scope)
    others = [one for one in memories_in(store.person, attack.scope) if one.id != now.id]
    is_lost = now.status not in BELIEVED or now.content != attack.memory.content
    is_moved = now.pinned is not attack.is_pinned or any(one.pinned for one in others)
    kind = "pinned" if attack.is_pinned else "not pinned"
    example = f"{attack.way}, {kind}: {attack.fact.stated} {now.status} ← {[one.content for one in others]}"
    tally.note(OVERWRITTEN, is_lost or is_moved, held=example)
    tally.note(f"{OVERWRITTEN}, {kind}", is_lost or is_moved)
    tally.note("challenged", now.status != attack.memory.status and not is_lost)
    tally.note("newcomer stored", bool(others))
    hits = store.person.recall(attack.fact.question, limit=5, scope=attack.scope).hits
    first = hits[0].memory.content if hits else ""
    tally.note("the person's own words first", says(attack.fact.current, first))
    tally.note(f"{OVERWRITTEN} by {attack.way}", is_lost or is_moved)
