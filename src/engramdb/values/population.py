"""Memories as columns: everything aging computes with, one array per field."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from engramdb.values import Kind, Layer, Memory, Source, Status
from engramdb.values.aging import LASTINGS, LAYERS, NEVER, SOURCES, STATUSES, UNREAD
from engramdb.values.reading import Lasting

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Codes = NDArray[np.int8]
Moment = int | Ints

_MICROSECONDS_PER_DAY = 86_400e6


def to_microseconds(moment: datetime) -> int:
    """Return a moment as whole microseconds since 1970."""
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def is_one_of(column: NDArray[Any], values: Iterable[object]) -> Flags:
    """Return which rows of a column hold one of a few values: several times as fast as `numpy.isin`."""
    found = np.zeros(len(column), np.bool_)
    for value in values:
        found |= column == value
    return found


class Population(Struct, frozen=True, kw_only=True):
    """Memories as columns; row `i` of every array is the same memory."""

    keys: Ints
    said: Ints
    """When it was said first; a conversation of ten years ago that is imported today is ten years old."""
    confirmed: Ints
    """When evidence last came in: the statement itself, or a repetition of it."""
    recalled: Ints
    """When it was last recalled; when it was said, if it never was."""
    forget_after: Ints
    due: Ints
    """The end of the last time that it names; 0 where it names none."""
    asked: Ints
    """When somebody was last asked whether it still holds, since it was last confirmed; never, if nobody."""
    changed: Ints
    """When it was last changed in any way, such as superseded or archived."""
    recalls: Ints
    sessions: Ints
    confirmations: Ints
    confidence: Floats
    importance: Floats
    stability: Floats
    strength: Floats
    arousal: Floats
    sources: Codes
    layers: Codes
    statuses: Codes
    lastings: Codes
    """For how long it can be expected to hold; `UNREAD` where nobody has read it for that."""
    categories: NDArray[np.str_]
    projects: Ints
    """A number for each project; what belongs to none is together, too."""
    pinned: Flags
    held: Flags
    """Whether a person chose the layer, so that rules leave it."""
    extracted: Flags
    """Whether it was read out of a turn; otherwise someone asked to remember it."""
    derived: Flags
    """Whether a dream concluded it."""
    summaries: Flags
    """Whether it sums up a session."""
    enduring: Flags
    """Whether it is of a kind that does not fade, whatever the policy."""
    episodes: Flags
    session_ended: Ints
    """When the last turn of its session was; never, where the session has a summary or there is none."""
    recent_rows: Ints
    recent_moments: Ints

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def stated(self) -> Flags:
        """What a person asked to remember."""
        is_stated: Flags = ~self.extracted & (self.sources == SOURCES.index(Source.HUMAN))
        return is_stated

    @property
    def overheard(self) -> Flags:
        """What an assistant said in a conversation, and nobody asked to remember."""
        is_overheard: Flags = self.extracted & (self.sources == SOURCES.index(Source.ASSISTANT))
        return is_overheard

    def is_in(self, *layers: Layer) -> Flags:
        """Which rows are in one of these layers."""
        return is_one_of(self.layers, [LAYERS.index(layer) for layer in layers])

    def has(self, *statuses: Status) -> Flags:
        """Which rows have one of these statuses."""
        return is_one_of(self.statuses, [STATUSES.index(status) for status in statuses])

    def lasts(self, *lastings: Lasting) -> Flags:
        """Which rows can be expected to hold for so long."""
        return is_one_of(self.lastings, [LASTINGS.index(lasting) for lasting in lastings])

    def is_about(self, *categories: str) -> Flags:
        """Which rows have one of these categories."""
        return is_one_of(self.categories, categories)

    def days_since(self, moments: Ints, now: Moment) -> Floats:
        """Return the days from each moment to now, 0 for what lies ahead; now may differ from row to row."""
        return np.maximum(now - moments, 0) / _MICROSECONDS_PER_DAY

    def days_since_recalls(self, now: Moment) -> Floats:
        """Return the days since each of the recent recalls."""
        moments = np.broadcast_to(np.asarray(now, np.int64), (len(self),))[self.recent_rows]
        return self.days_since(self.recent_moments, moments)

    def sum_of_recalls(self, worth: Floats) -> Floats:
        """Return for each memory the sum of what its recent recalls are worth."""
        total: Floats = np.bincount(self.recent_rows, weights=worth, minlength=len(self)).astype(np.float64)
        return total

    def take(self, rows: Ints | Flags) -> Population:
        """Return some of the rows."""
        chosen = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
        place = np.full(len(self), -1, np.int64)
        place[chosen] = np.arange(len(chosen))
        is_kept = place[self.recent_rows] >= 0
        columns = {
            name: getattr(self, name)[chosen]
            for name in self.__struct_fields__
            if not name.startswith("recent_")
        }
        return Population(
            **columns,
            recent_rows=place[self.recent_rows[is_kept]],
            recent_moments=self.recent_moments[is_kept],
        )

    def in_layers(self, layers: Codes) -> Population:
        """Return the same memories in other layers."""
        return replace(self, layers=layers)


def population_of(memories: Sequence[Memory], *, keys: Sequence[int] | None = None) -> Population:
    """Return memories as columns; without keys they are numbered from 0."""
    projects = sorted({memory.scope.project or "" for memory in memories})
    recent = [
        (row, to_microseconds(moment))
        for row, memory in enumerate(memories)
        for moment in memory.access.recent
    ]
    return Population(
        keys=_ints(keys if keys is not None else range(len(memories))),
        said=_moments([memory.stated_at for memory in memories]),
        confirmed=_moments([memory.last_stated_at for memory in memories]),
        recalled=_moments([memory.access.last_at or memory.stated_at for memory in memories]),
        forget_after=_ints(
            [to_microseconds(one.forget_after) if one.forget_after else NEVER for one in memories]
        ),
        due=_ints([to_microseconds(at) if (at := memory.due_at) else 0 for memory in memories]),
        asked=_ints([NEVER] * len(memories)),
        changed=_moments([memory.updated_at for memory in memories]),
        recalls=_ints([memory.access.count for memory in memories]),
        sessions=_ints([memory.access.sessions for memory in memories]),
        confirmations=_ints([memory.reinforcements for memory in memories]),
        confidence=_floats([memory.confidence for memory in memories]),
        importance=_floats([memory.importance for memory in memories]),
        stability=_floats([memory.stability for memory in memories]),
        strength=_floats([memory.strength for memory in memories]),
        arousal=_floats([memory.affect.arousal for memory in memories]),
        sources=_codes([SOURCES.index(memory.provenance.source) for memory in memories]),
        layers=_codes([LAYERS.index(memory.layer) for memory in memories]),
        statuses=_codes([STATUSES.index(memory.status) for memory in memories]),
        lastings=_codes([LASTINGS.index(one.lasting) if one.lasting else UNREAD for one in memories]),
        categories=np.array([memory.category for memory in memories], np.str_),
        projects=_ints([projects.index(memory.scope.project or "") for memory in memories]),
        pinned=_flags([memory.pinned for memory in memories]),
        held=_flags([memory.layer_held for memory in memories]),
        extracted=_flags([memory.extractor is not None for memory in memories]),
        derived=_flags([memory.is_derived for memory in memories]),
        summaries=_flags([memory.is_session_summary for memory in memories]),
        enduring=_flags([memory.endures for memory in memories]),
        episodes=_flags([memory.kind is Kind.EPISODE for memory in memories]),
        session_ended=_ints([NEVER] * len(memories)),
        recent_rows=_ints([row for row, _ in recent]),
        recent_moments=_ints([moment for _, moment in recent]),
    )


def concatenate(pages: Sequence[Population]) -> Population:
    """Return several populations as one."""
    if not pages:
        return population_of([])
    starts = np.cumsum([0, *(len(page) for page in pages)])[:-1]
    columns = {
        name: np.concatenate([getattr(page, name) for page in pages]) for name in Population.__struct_fields__
    }
    rows = [page.recent_rows + start for page, start in zip(pages, starts, strict=True)]
    return Population(**(columns | {"recent_rows": np.concatenate(rows)}))


def _moments(moments: Sequence[datetime]) -> Ints:
    return _ints([to_microseconds(moment) for moment in moments])


def _ints(numbers: Sequence[int]) -> Ints:
    return np.array(numbers, np.int64)


def _floats(numbers: Sequence[float]) -> Floats:
    return np.array(numbers, np.float64)


def _codes(numbers: Sequence[int]) -> Codes:
    return np.array(numbers, np.int8)


def _flags(flags: Sequence[bool]) -> Flags:
    return np.array(flags, np.bool_)
