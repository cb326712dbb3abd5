"""Export memories as JSON lines."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from engramdb.text.pii import classify, is_withheld
from engramdb.values import ExportedMemory

MARK = "engram"
"""The name by which a line is known as ours; its value is the version of the form."""
FORM = 1


def discreet(exported: ExportedMemory) -> ExportedMemory:
    """
    Return it without what is private beside its statement, for a file that is to hold nothing of the kind.

    The exact words may be of a sentence that says more than the memory does, and as a reason people write
    whatever they like.
    """
    memory = exported.memory
    if memory.verbatim and _is_private(memory.verbatim):
        memory = memory.evolve(verbatim=None)
    if memory.replaces and _is_private(memory.replaces):
        memory = memory.evolve(replaces=None)
    events = tuple(replace(one, reason="") if _is_private(one.reason) else one for one in exported.history)
    return replace(exported, memory=memory, history=events)


def _is_private(words: str) -> bool:
    return bool(words) and is_withheld(words, classify(words).tier)


def line_of(exported: ExportedMemory) -> bytes:
    """Return a memory as a line, its end included; what is empty is left out."""
    told = msgspec.to_builtins(exported.memory)
    kept = {name: value for name, value in told.items() if value not in (None, [], {}, "")}
    line = {MARK: FORM, **kept, "entities": list(exported.entities)}
    if exported.links:
        line["links"] = [
            {"to": edge.target, "type": edge.type.value, "weight": edge.weight} for edge in exported.links
        ]
    if exported.history:
        line["history"] = [msgspec.to_builtins(event) for event in exported.history]
    return msgspec.json.encode(line) + b"\n"
