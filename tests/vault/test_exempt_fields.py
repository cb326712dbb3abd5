"""Fields that disclosure does not look at are decided struct by struct: a name alone exempts nothing new."""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING

from msgspec import Struct

import engramdb.values
from engramdb.vault.disclosure import _NO_WORDS, _UNTOUCHED

if TYPE_CHECKING:
    from collections.abc import Iterator

DECIDED = {
    "Act": "action id undone_by",
    "AgeMove": "memory_id",
    "AuditEvent": "action",
    "AuditFilters": "action token",
    "Backup": "path",
    "Box": "id",
    "CorrectedMemory": "box extractor id private superseded_by supersedes version",
    "Dispute": "by question_id",
    "Document": "id key memory_id turn_id",
    "Domain": "id",
    "DreamChange": "action made step",
    "Entity": "id",
    "ErasedFile": "path",
    "Erasure": "token",
    "ErasureMention": "id",
    "EvidenceItem": "memory_id",
    "ForgottenMemory": "box extractor id private superseded_by supersedes version",
    "Gap": "id",
    "HistoryEvent": "act action memory_id",
    "Hit": "through",
    "Judgment": "judged_by",
    "Memory": "box extractor id private superseded_by supersedes version",
    "Missing": "index",
    "ModelCall": "model purpose",
    "NotebookChange": "act memory_id path",
    "PairJudgment": "by",
    "PutDocument": "key memory_id",
    "Reading": "by",
    "Reason": "index",
    "Reasoned": "cited",
    "Relation": "memory_id",
    "RemoveDocument": "key",
    "SaidTurn": "turn_id",
    "SalvageReport": "path",
    "ShownMemory": "memory_id",
    "Slot": "gap_id memory_id turn_id",
    "StatusReport": "index",
    "StepReport": "step",
    "Summary": "id parent",
    "Turn": "id private",
    "Undone": "act",
    "WrittenFile": "by path",
}
"""By struct, the fields that hold an id or a name of ours. Who adds a struct with such a field adds it here,
once it is certain that nobody's words can stand in it."""
UNTOUCHED = {"Actor", "Brief", "ExportedMemory", "Quality", "Query", "Scope", "Trust", "Window"}
"""Structs that are the caller's own, hold no words, or were disclosed where they were made."""


def structs_of(kind: type[Struct]) -> Iterator[type[Struct]]:
    """Yield the structs of the values, however deep."""
    for one in kind.__subclasses__():
        if one.__module__.startswith("engramdb.values"):
            yield one
        yield from structs_of(one)


def test_every_field_that_is_not_looked_at_was_decided_for_its_struct() -> None:
    """A new struct that calls a text `path` or `step` is noticed here."""
    for module in pkgutil.iter_modules(engramdb.values.__path__):
        importlib.import_module(f"engramdb.values.{module.name}")
    exempt = {
        one.__name__: " ".join(sorted(_NO_WORDS & set(one.__struct_fields__)))
        for one in structs_of(Struct)
        if one.__name__ not in _UNTOUCHED
    }

    assert {name: fields for name, fields in exempt.items() if fields} == DECIDED
    assert UNTOUCHED == _UNTOUCHED
