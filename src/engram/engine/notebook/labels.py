"""
Which labels in a note's front matter a person has changed.

Asked by `engine.notebook.take`. Compared with how the last sync left the note, so that what the store changed
meanwhile is not taken for an edit; a person's word then stands over a rule's. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.portability.fields import share
from engram.portability.notebook.note import EDITABLE, SHOWN_ONLY, labels_of, same_label, truth
from engram.values import Layer, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engram.portability.notebook.front import Value
    from engram.portability.notebook.note import Note
    from engram.values import Memory

STATUSES = frozenset(
    {Status.ACTIVE, Status.CHALLENGED, Status.FORGOTTEN, Status.ARCHIVED, Status.INVALIDATED}
)
"""What a person may say of a memory in a note; erasing is too final for a typing mistake."""


def changed_labels(note: Note, before: Mapping[str, str], memory: Memory) -> tuple[dict[str, str], list[str]]:
    """Return the labels to change, and the names of those that cannot be changed so."""
    now = labels_of(memory, entities=())
    edited = {
        name: value
        for name, value in note.fields.items()
        if name in (*EDITABLE, *SHOWN_ONLY)
        and not same_label(name, value, before.get(name))
        and (name == "entities" or not same_label(name, value, now.get(name)))
    }
    usable = {name: _usable(name, value) for name, value in edited.items() if name in EDITABLE}
    wanted = {name: value for name, value in usable.items() if value is not None}
    return wanted, [name for name in edited if name not in wanted]


def _usable(name: str, value: Value) -> str | None:
    """Return a label as the engine takes it; None for what it would not understand."""
    if not isinstance(value, str):
        return None
    word = value.strip().lower()
    if name == "layer":
        return word if word in {str(one) for one in Layer} else None
    if name == "status":
        return word if word in {str(one) for one in STATUSES} else None
    if name == "importance":
        return word if share(word) is not None else None
    if name == "pinned":
        told = truth(value)
        return None if told is None else str(told).lower()
    return word.replace(" ", "_") or None
