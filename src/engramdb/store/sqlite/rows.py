"""A memory as a row and back; times as microseconds since 1970, UTC."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from engramdb.erasable_cache import cached
from engramdb.errors import StoreCorrupt
from engramdb.store.sqlite.connection import NOT_A_VALUE
from engramdb.values import (
    AccessLog,
    Affect,
    Detail,
    Kind,
    Layer,
    Memory,
    MemoryType,
    Provenance,
    Scope,
    SecurityTier,
    Source,
    Status,
    Traits,
)

# Times in the file: whole microseconds since 1970, UTC.

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_microseconds(moment: datetime) -> int:
    """Return the moment as stored; it must know its time zone."""
    return (moment - _EPOCH) // _MICROSECOND


def from_microseconds(number: int) -> datetime:
    """Return the stored moment, in UTC."""
    return _EPOCH + timedelta(microseconds=number)


def optional_to_microseconds(moment: datetime | None) -> int | None:
    """Return the moment as stored, or None."""
    return None if moment is None else to_microseconds(moment)


def optional_from_microseconds(number: int | None) -> datetime | None:
    """Return the stored moment, or None."""
    return None if number is None else from_microseconds(number)


# A memory as a row, and back.
#
# Used by the tables that read or write memories. The order of `COLUMNS` is the order of both functions;
# a test takes a memory with every field set there and back again.

COLUMNS = [
    "id",
    "status",
    "layer",
    "type",
    "category",
    "kind",
    "content",
    "subject",
    "predicate",
    "object",
    "source",
    "speaker",
    "session",
    "turns",
    "episodes",
    "occurred_at",
    "created_at",
    "updated_at",
    "valid_from",
    "valid_to",
    "forget_after",
    "confidence",
    "importance",
    "stability",
    "strength",
    "surprise",
    "reinforcements",
    "valence",
    "intensity",
    "arousal",
    "access_count",
    "access_last_at",
    "access_recent",
    "access_sessions",
    "pinned",
    "version",
    "supersedes",
    "superseded_by",
    "security",
    "detail",
    "traits",
    "flags",
    "extractor",
    "verbatim",
    "box",
    "successes",
    "failures",
    "confirmed_at",
    "layer_held",
    "helped",
    "unhelpful",
    "is_negated",
    "replaces",
]
"""The columns that hold the memory itself; `key`, `change`, `fingerprint` and `scope` are apart."""

SELECTED = ", ".join(f"m.{name}" for name in COLUMNS) + ", s.project, s.squad, s.agent, s.channel, s.user"
"""What to select, from `memories m JOIN scopes s`, for `from_row`."""

_encode = msgspec.json.encode
_decode = msgspec.json.decode


def to_row(memory: Memory) -> tuple[Any, ...]:
    """Return the values of `COLUMNS`."""
    made, affect, access = memory.provenance, memory.affect, memory.access
    return (
        *(memory.id, memory.status, memory.layer, memory.type, memory.category, memory.kind, memory.content),
        *(memory.subject, memory.predicate, memory.object),
        *(made.source, made.speaker, made.session, to_json(made.turns), to_json(made.episodes)),
        *(optional_to_microseconds(memory.occurred_at), to_microseconds(memory.created_at)),
        *(to_microseconds(memory.updated_at), optional_to_microseconds(memory.valid_from)),
        *(optional_to_microseconds(memory.valid_to), optional_to_microseconds(memory.forget_after)),
        *(memory.confidence, memory.importance, memory.stability, memory.strength),
        *(memory.surprise, memory.reinforcements),
        *(affect.valence, affect.intensity, affect.arousal),
        *(access.count, optional_to_microseconds(access.last_at)),
        *(to_json([to_microseconds(moment) for moment in access.recent]), access.sessions),
        *(int(memory.pinned), memory.version, memory.supersedes, memory.superseded_by, memory.security),
        *(to_json(memory.detail), to_json(memory.traits)),
        *(to_json(memory.flags), memory.extractor, memory.verbatim, memory.box),
        *(memory.successes, memory.failures),
        *(optional_to_microseconds(memory.confirmed_at), int(memory.layer_held)),
        *(memory.helped, memory.unhelpful),
        *(None if memory.is_negated is None else int(memory.is_negated), memory.replaces),
    )


def from_row(row: Sequence[Any]) -> Memory:
    """Return the memory from the columns of `SELECTED`; raises `StoreCorrupt` where they make no sense."""
    try:
        return _memory(row)
    except NOT_A_VALUE as exc:
        raise StoreCorrupt(f"memory {row[0]} makes no sense: {type(exc).__name__}") from exc


def _memory(row: Sequence[Any]) -> Memory:
    got = dict(zip(COLUMNS, row, strict=False))
    return Memory(
        id=got["id"],
        content=got["content"],
        scope=scope_from(row[len(COLUMNS) : len(COLUMNS) + 5]),
        status=Status(got["status"]),
        layer=Layer(got["layer"]),
        type=MemoryType(got["type"]),
        category=got["category"],
        kind=Kind(got["kind"]),
        subject=got["subject"],
        predicate=got["predicate"],
        object=got["object"],
        provenance=_provenance(got),
        occurred_at=optional_from_microseconds(got["occurred_at"]),
        created_at=from_microseconds(got["created_at"]),
        updated_at=from_microseconds(got["updated_at"]),
        valid_from=optional_from_microseconds(got["valid_from"]),
        valid_to=optional_from_microseconds(got["valid_to"]),
        forget_after=optional_from_microseconds(got["forget_after"]),
        confidence=got["confidence"],
        importance=got["importance"],
        stability=got["stability"],
        strength=got["strength"],
        surprise=got["surprise"],
        reinforcements=got["reinforcements"],
        affect=Affect(valence=got["valence"], intensity=got["intensity"], arousal=got["arousal"]),
        access=_access(got),
        pinned=bool(got["pinned"]),
        version=got["version"],
        supersedes=got["supersedes"],
        superseded_by=got["superseded_by"],
        security=SecurityTier(got["security"]),
        detail=Detail(**_decode(got["detail"])),
        traits=_traits(got["traits"]),
        flags=_tuple(got["flags"]),
        extractor=got["extractor"],
        verbatim=got["verbatim"],
        box=got["box"],
        successes=got["successes"],
        failures=got["failures"],
        confirmed_at=optional_from_microseconds(got["confirmed_at"]),
        layer_held=bool(got["layer_held"]),
        helped=got["helped"],
        unhelpful=got["unhelpful"],
        is_negated=None if got["is_negated"] is None else bool(got["is_negated"]),
        replaces=got["replaces"],
    )


def scope_from(names: Sequence[str]) -> Scope:
    """Return the scope from its five columns, in which an empty text stands for none."""
    return _scope(*names)


@cached(64)  # an answer holds a thousand memories of few scopes
def _scope(project: str, squad: str, agent: str, channel: str, user: str) -> Scope:
    return Scope(
        project=project or None,
        squad=squad or None,
        agent=agent or None,
        channel=channel or None,
        user=user or None,
    )


def to_json(value: Any) -> str:
    """Return the value as JSON text."""
    return _encode(value).decode()


def from_json(text: str) -> Any:
    """Return the value of a JSON text."""
    return _decode(text)


def _tuple(text: str) -> tuple[Any, ...]:
    """Return a list in JSON; most are empty, and a large answer has thousands of them."""
    return () if text == "[]" else tuple(_decode(text))


def _provenance(got: dict[str, Any]) -> Provenance:
    return Provenance(
        source=Source(got["source"]),
        speaker=got["speaker"],
        session=got["session"],
        turns=_tuple(got["turns"]),
        episodes=_tuple(got["episodes"]),
    )


def _access(got: dict[str, Any]) -> AccessLog:
    return AccessLog(
        count=got["access_count"],
        last_at=optional_from_microseconds(got["access_last_at"]),
        recent=tuple([from_microseconds(number) for number in _tuple(got["access_recent"])]),
        sessions=got["access_sessions"],
    )


def _traits(text: str) -> Traits:
    found: dict[str, Any] = _decode(text)
    fields: Any = {name: tuple(v) if isinstance(v, list) else v for name, v in found.items()}
    return Traits(**fields)
