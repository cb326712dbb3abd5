"""
A generated year: facts of people and projects that are repeated, change, are got wrong and set right.

Used by `evals.dream` and by a test with a small one; the same seed gives the same life. `live` makes it up
with its ground truth, `enter` tells it to an Engram day by day as a user would, through `observe` and
`remember`. `Life.stated_by` finds the facts in any text again, so that memories which the
product derived are judged like those that it was told. It knows nothing of how the product works.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from evals.life_words import (
    CLAIMS,
    ECHOES,
    LEAD_INS,
    MINE,
    OF_ME,
    OF_PEOPLE,
    OF_PROJECTS,
    PEOPLE,
    PROJECTS,
    REBUTTALS,
    REPLIES,
    SMALL_TALK,
    VALUES,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from engramdb import Engram
    from engramdb.testing import ManualClock
    from evals.life_words import Attribute

BEGIN = datetime(2025, 1, 1, 8, tzinfo=UTC)
DAYS = 365
LAST_CHANGE = 330
"""Nothing changes in the last month, so that what is current has been said more than a day ago."""
SHARE_REMEMBERED, SHARE_ECHOED = 0.15, 0.10
"""How much is stored by `remember` in place of talk, and how much an assistant repeats."""
SHARE_REBUTTED = 0.6
"""How many mistakes are set right in so many words; the others by the truth being said again and again."""
SHARE_OFTEN, MOST_REPEATS = 0.03, 50
"""A few things somebody never stops mentioning."""
SMALL_TALK_A_DAY = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One value that something had, and whether it has it at the end of the year."""

    slot: str
    about: str
    value: str
    is_current: bool
    is_true: bool = True
    """Whether it ever was so; a mistake that somebody made is not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """Something that can be asked, and how its value came to be."""

    name: str
    about: str
    question: str
    current: str
    stale: tuple[str, ...]
    course: str
    """`stable`, `evolving`, `returning`, or `mistaken`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One thing that was said on a day, and through which door it comes."""

    day: int
    content: str
    role: str = "user"
    is_remembered: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """Everything that was said, oldest first, and the truth about it."""

    said: tuple[Said, ...]
    slots: tuple[Slot, ...]
    facts: tuple[Fact, ...]
    _by_value: dict[str, Fact] = field(repr=False)
    _pattern: re.Pattern[str] = field(repr=False)

    def stated_by(self, text: str) -> set[Fact]:
        """Return the facts whose value a text holds; each value belongs to one fact only."""
        return {self._by_value[found.lower()] for found in self._pattern.findall(text)}


@dataclass(slots=True)
class _Telling:
    """A life that is being made up."""

    rng: random.Random
    pools: dict[str, list[str]]
    said: list[Said] = field(default_factory=list)
    slots: list[Slot] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)


def live(
    *,
    seed: int = 7,
    people: int = 14,
    projects: int = 12,
    repeats: float = 4.0,
    small_talk: int = SMALL_TALK_A_DAY,
) -> Life:
    """Return a year with so many people and projects; each fact is said about `repeats` times."""
    rng = random.Random(seed)
    telling = _Telling(rng=rng, pools={name: rng.sample(pool, len(pool)) for name, pool in VALUES.items()})
    _tell(telling, MINE, OF_ME, repeats)
    for name in PEOPLE[:people]:
        _tell(telling, name, OF_PEOPLE, repeats)
    for name in PROJECTS[:projects]:
        _tell(telling, name, OF_PROJECTS, repeats)
    said = sorted([*telling.said, *_small_talk(rng, small_talk)], key=lambda one: one.day)
    by_value = {fact.value.lower(): fact for fact in telling.facts}
    longest_first = sorted(map(re.escape, by_value), key=len, reverse=True)
    pattern = re.compile(rf"(?<![\w-])(?:{'|'.join(longest_first)})(?![\w-])", re.IGNORECASE)
    return Life(
        said=tuple(said),
        slots=tuple(telling.slots),
        facts=tuple(telling.facts),
        _by_value=by_value,
        _pattern=pattern,
    )


def enter(
    life: Life,
    engram: Engram,
    clock: ManualClock,
    *,
    every_month: Callable[[], object] | None = None,
    session_name: str = "day",
) -> None:
    """Tell the life to an Engram, a session a day; `every_month` is called after each thirty days."""
    by_day: defaultdict[int, list[Said]] = defaultdict(list)
    for one in life.said:
        by_day[one.day].append(one)
    for day in range(DAYS):
        clock.set(BEGIN + timedelta(days=day))
        session = f"{session_name} {day}"
        for one in by_day[day]:
            clock.advance(minutes=3)
            if one.is_remembered:
                engram.remember(one.content, session=session)
            else:
                engram.observe(one.content, role=one.role, session=session)
        if by_day[day]:
            engram.flush()
        if every_month is not None and day % 30 == 29:
            clock.advance(hours=10)
            every_month()
    clock.set(BEGIN + timedelta(days=DAYS))


def _tell(telling: _Telling, who: str, attributes: Sequence[Attribute], repeats: float) -> None:
    for attribute in attributes:
        rng = telling.rng
        course = _course(rng, attribute)
        wanted = {"stable": 1, "evolving": rng.choice((2, 2, 3)), "returning": 2, "mistaken": 2}[course]
        pool = telling.pools[attribute.pool or attribute.name]
        if len(pool) < wanted:
            continue
        values = [pool.pop() for _ in range(wanted)]
        topic = _Topic(rng, who, attribute, repeats)
        telling.said += topic.mistaken(*values) if course == "mistaken" else topic.evolving(course, values)
        _keep_truth(telling, who, attribute, course, values)


def _course(rng: random.Random, attribute: Attribute) -> str:
    if attribute.changes:
        return rng.choices(("evolving", "returning", "stable", "mistaken"), (6, 1, 2, 2))[0]
    return rng.choices(("stable", "mistaken"), (3, 1))[0]


@dataclass(frozen=True, slots=True)
class _Topic:
    """One thing that comes up over the year."""

    rng: random.Random
    who: str
    attribute: Attribute
    repeats: float

    def evolving(self, course: str, values: Sequence[str]) -> Iterator[Said]:
        """Yield each value in its time, told when it is new and then repeated."""
        begin = self.rng.randrange(0, 60)
        periods = list(values) + ([values[0]] if course == "returning" else [])
        starts = sorted([begin, *self.rng.sample(range(begin + 30, LAST_CHANGE), len(periods) - 1)])
        for place, (value, start) in enumerate(zip(periods, starts, strict=True)):
            end = starts[place + 1] if place + 1 < len(starts) else DAYS
            if place:
                changed = self.rng.choice(self.attribute.changes)
                yield from _aloud(
                    self.rng, start, changed.format(who=self.who, old=periods[place - 1], value=value)
                )
            yield from self._repeated(value, min(start + bool(place), end - 1), end)

    def mistaken(self, true: str, wrong: str) -> Iterator[Said]:
        """Yield the truth, a mistake about it, and how it was settled: outright, and by saying it again."""
        begin = self.rng.randrange(0, 60)
        middle = self.rng.randrange(begin + 40, 280)
        yield from self._repeated(true, begin, middle)
        yield Said(day=middle, content=_joined(self.rng.choice(CLAIMS), self._sentence(wrong)))
        rebuttal = _joined(self.rng.choice(REBUTTALS), self._sentence(true))
        if self.rng.random() < SHARE_REBUTTED:
            yield Said(day=middle + self.rng.randrange(1, 20), content=rebuttal)
        yield from self._repeated(true, middle + 20, DAYS)

    def _repeated(self, value: str, start: int, end: int) -> Iterator[Said]:
        """Yield one value in varied wording, at least once, now and then very often."""
        often = 12 if self.rng.random() < SHARE_OFTEN else 1
        count = max(1, min(MOST_REPEATS, round(self.rng.expovariate(1 / self.repeats)) * often))
        others = [self.rng.randrange(start, end) for _ in range(count - 1)]
        for day in (start, *others):
            yield from _aloud(self.rng, day, self._sentence(value))

    def _sentence(self, value: str) -> str:
        return self.rng.choice(self.attribute.says).format(who=self.who, value=value)


def _aloud(rng: random.Random, day: int, sentence: str) -> Iterator[Said]:
    if rng.random() < SHARE_REMEMBERED:
        yield Said(day=day, content=sentence, is_remembered=True)
        return
    yield Said(day=day, content=_joined(rng.choice(LEAD_INS) + "{said}", sentence))
    if rng.random() < SHARE_ECHOED:
        yield Said(day=day, content=_joined(rng.choice(ECHOES), sentence), role="assistant")


def _joined(frame: str, sentence: str) -> str:
    """Put a sentence into a frame; after a comma it goes on small unless it begins with a name."""
    goes_on = frame.startswith(("By the", "Oh", "As I", "For the", "I think", "Someone", "Actually"))
    is_plain = sentence.split(maxsplit=1)[0] in (
        "The",
        "My",
        "What",
        "Careful,",
        "Releases",
        "We",
        "Remember",
    )
    said = sentence[0].lower() + sentence[1:] if goes_on and is_plain else sentence
    return frame.format(said=said)


def _keep_truth(
    telling: _Telling, who: str, attribute: Attribute, course: str, values: Sequence[str]
) -> None:
    current = values[-1] if course == "evolving" else values[0]
    name = f"{who}/{attribute.name}"
    stale = tuple(value for value in values if value != current)
    telling.slots.append(
        Slot(
            name=name,
            about=who,
            question=attribute.question.format(who=who),
            current=current,
            stale=stale,
            course=course,
        )
    )
    for value in values:
        is_true = course != "mistaken" or value == current
        fact = Fact(slot=name, about=who, value=value, is_current=value == current, is_true=is_true)
        telling.facts.append(fact)


def _small_talk(rng: random.Random, a_day: int) -> Iterator[Said]:
    for day in range(DAYS):
        for _ in range(a_day):
            yield Said(day=day, content=rng.choice(SMALL_TALK))
            if rng.random() < 0.5:  # half of it is answered
                yield Said(day=day, content=rng.choice(REPLIES), role="assistant")
