"""
What the history notes of a change, and a memory as it was before one.

Enough is noted to undo every change, and never a word of text. What is noted of a field is its old and its
new value; of the evidence, how many pieces there were and are, and which came or went.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import msgspec
from msgspec.structs import replace

from engramdb.errors import StoreCorrupt
from engramdb.values import (
    Action,
    Affect,
    HistoryEvent,
    Kind,
    Layer,
    Memory,
    MemoryType,
    Provenance,
    SecurityTier,
    Source,
)
from engramdb.values.reading import Lasting

MEASURES = ("confidence", "importance", "stability", "strength")
"""Numbers that several causes add to: taking one away leaves what the others gave."""
COUNTS = ("reinforcements", "successes", "failures", "helped", "unhelpful")
_CHOICES = (
    *("layer", "layer_held", "type", "kind", "category", "lasting", "pinned", "security", "extractor"),
    *("said_at", "confirmed_at", "occurred_at", "valid_from", "valid_to", "forget_after"),
    *("supersedes", "superseded_by", "version", "affect"),
)
RECORDED = (*_CHOICES, *MEASURES, *COUNTS)
"""The fields of a memory that the history notes; flags, evidence and the source are noted beside them."""
EVIDENCE = ("turns", "episodes", "wordings")
GAINED, LOST = "_gained", "_lost"
"""Endings under which it is noted which pieces of evidence came, and which went from where."""
FLAGS, SOURCE = "flags", "source"
UNRECORDED = frozenset(
    {
        *("id", "scope", "created_at", "updated_at", "access", "box", "surprise"),
        *("content", "private", "statement", "verbatim", "detail", "traits", "moments", "claims", "force"),
        *("subject", "predicate", "object", "is_negated", "replaces", "answers", "refers_to"),
    }
)
"""What the history does not note: words and what is read from them, and what never changes or has a log."""
_REPLACING = (Action.SUPERSEDE, Action.CORRECT)


def differences(old: Memory, new: Memory) -> dict[str, tuple[Any, Any]]:
    """Return what the history says of a change."""
    found: dict[str, tuple[Any, Any]] = {
        name: (getattr(old, name), getattr(new, name))
        for name in (*RECORDED, FLAGS)
        if getattr(old, name) != getattr(new, name)
    }
    if old.provenance == new.provenance:
        return found
    if old.provenance.source is not new.provenance.source:
        found[SOURCE] = (old.provenance.source, new.provenance.source)
    for name in EVIDENCE:
        found |= _evidence_differences(name, getattr(old.provenance, name), getattr(new.provenance, name))
    return found


def _evidence_differences(
    name: str, before: tuple[str, ...], after: tuple[str, ...]
) -> dict[str, tuple[Any, Any]]:
    if before == after:
        return {}
    found: dict[str, tuple[Any, Any]] = {name: (len(before), len(after))}
    had, has = set(before), set(after)
    if gained := [one for one in after if one not in had]:
        found[name + GAINED] = (None, gained)
    if lost := [(place, one) for place, one in enumerate(before) if one not in has]:
        found[name + LOST] = (lost, None)
    return found


def before_event(memory: Memory, event: HistoryEvent) -> Memory:
    """Return a memory as it was before what happened to it last; a row of nonsense is `StoreCorrupt`."""
    before: dict[str, Any] = {}
    if event.action in _REPLACING:  # rows of the first versions say no more than that the status changed
        before |= {"superseded_by": None, "valid_to": None}
    if event.old_status is not None:
        before["status"] = event.old_status
    for name in event.changes.keys() & _TYPES.keys():  # a later version may note more than this one knows
        before[name] = _value(memory, name, event.changes[name][0])
    return memory.evolve(provenance=_provenance_before(memory, event), **before)


def without_event(memory: Memory, event: HistoryEvent) -> Memory:
    """
    Return a memory without what an event did to it, though more may have happened since.

    A number loses what the event added, a list the pieces that it brought. Any other field is as it was
    before, unless something else was put there since.
    """
    changes: dict[str, Any] = {}
    if event.old_status is not None and memory.status is event.new_status:
        changes["status"] = event.old_status
    for name in event.changes.keys() & _TYPES.keys():
        old, new = (_value(memory, name, stored) for stored in event.changes[name])
        now = getattr(memory, name)
        if now == new:
            changes[name] = old
        elif name in MEASURES:
            changes[name] = min(1.0, max(0.0, now - (new - old))) if name in _SHARES else now - (new - old)
        elif name in COUNTS:
            changes[name] = max(0, now - (new - old))
        elif name == FLAGS:
            changes[name] = tuple(flag for flag in now if flag in old or flag not in new)
    return memory.evolve(provenance=_provenance_before(memory, event), **changes)


def overlap(event: HistoryEvent, later: HistoryEvent) -> bool:
    """Return whether a later event changed a field again that cannot simply lose what the first one did."""
    return bool(_chosen(event) & _chosen(later))


def _chosen(event: HistoryEvent) -> set[str]:
    return (event.changes.keys() & set(_CHOICES)) | ({"status"} if event.new_status is not None else set())


def _provenance_before(memory: Memory, event: HistoryEvent) -> Provenance:
    provenance = memory.provenance
    if SOURCE in event.changes:
        provenance = replace(provenance, source=_value(memory, SOURCE, event.changes[SOURCE][0]))
    for name in EVIDENCE:
        if name in event.changes:
            provenance = _with_evidence_before(memory, provenance, name, event.changes)
    return provenance


def _with_evidence_before(
    memory: Memory, provenance: Provenance, name: str, changes: Mapping[str, tuple[Any, Any]]
) -> Provenance:
    """Return the provenance without the pieces that came, and with those that went where they were."""
    pieces = list(getattr(provenance, name))
    gained = changes.get(name + GAINED, (None, None))[1]
    lost = changes.get(name + LOST, (None, None))[0]
    if gained is None and lost is None:  # rows of earlier versions say only how many there were
        pieces = pieces[: int(_value(memory, name, changes[name][0]))]
    pieces = [one for one in pieces if one not in (gained or ())]
    for place, one in lost or ():
        if one not in pieces:
            pieces.insert(min(place, len(pieces)), one)
    restored: dict[str, Any] = {name: tuple(pieces)}
    return replace(provenance, **restored)


def _value(memory: Memory, name: str, stored: Any) -> Any:
    """Return what is stored in a history as a value again."""
    try:
        return _TYPES.get(name, _OTHER_TYPES.get(name, int))(stored)
    except (TypeError, ValueError, msgspec.ValidationError) as exc:
        raise StoreCorrupt(f"the history of memory {memory.id} makes no sense: {name}") from exc


def _moment(stored: Any) -> datetime | None:
    """Return a moment that JSON may have made a text of."""
    if stored is None or isinstance(stored, datetime):
        return stored
    return datetime.fromisoformat(stored)


def _lasting(stored: Any) -> Lasting | None:
    return None if stored is None else Lasting(stored)


def _text(stored: Any) -> str | None:
    return None if stored is None else str(stored)


def _affect(stored: Any) -> Affect:
    return stored if isinstance(stored, Affect) else Affect(**stored)


_SHARES = ("confidence", "importance")
"""Measures between 0 and 1."""
_TYPES: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(MEASURES, float),
    **dict.fromkeys((*COUNTS, "version"), int),
    **dict.fromkeys(("pinned", "layer_held"), bool),
    **dict.fromkeys(("said_at", "confirmed_at", "occurred_at", "valid_from", "valid_to"), _moment),
    "forget_after": _moment,
    **dict.fromkeys(("supersedes", "superseded_by", "box", "extractor"), _text),
    "layer": Layer,
    "type": MemoryType,
    "kind": Kind,
    "lasting": _lasting,
    "security": SecurityTier,
    "category": str,
    "affect": _affect,
    FLAGS: tuple,
}
"""What the history may say of a memory, and what makes a value of it again after JSON made it a text."""
_OTHER_TYPES: Mapping[str, Callable[[Any], Any]] = {SOURCE: Source}
