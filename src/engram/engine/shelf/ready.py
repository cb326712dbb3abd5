"""
Make a document ready for the shelf: checked, and what it says gone through the first half of the gate.

Called by `writes` before any write, so that an embedder that takes its time holds nobody up;
`shelving` does the rest. A document that JSON cannot hold raises here; one whose text may not be
remembered is ready all the same, with the code of the reason.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from engram.capture.admit import prepare
from engram.capture.draft import Draft
from engram.errors import ContentTooLarge, EngramError, InvalidContent
from engram.text.normal import clean, is_text
from engram.values import Provenance
from engram.values.memory import SHELVED

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from engram.capture.admit import Gate, Prepared
    from engram.values import Putting, Scope

MAX_NAME_CHARACTERS = 1000
"""Of a key, and of each name in a place."""
_DEEPEST = 100


def unsettled(gate: Gate) -> Gate:
    """Return the gate for documents: it takes the same words for the same, and compares nothing else."""
    policy = replace(gate.policy, conflict_above=1.0, same_above=1.0, version_overlap_above=1.0)
    return replace(gate, policy=policy, judge=None)


def plain(value: Any, *, depth: int = 0) -> Any:
    """Return the value as JSON will give it back; raises for what JSON cannot hold."""
    if depth > _DEEPEST:
        raise InvalidContent(f"the document is nested more than {_DEEPEST} levels deep")
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        if value - value != 0:
            raise InvalidContent(f"the document holds {value}, which is no JSON number")
        return value
    if isinstance(value, list | tuple):
        return [plain(one, depth=depth + 1) for one in value]
    if isinstance(value, dict):
        if not all(isinstance(name, str) for name in value):
            raise InvalidContent("the document has a field whose name is not text")
        return {name: plain(one, depth=depth + 1) for name, one in value.items()}
    raise InvalidContent(
        f"the document holds a {type(value).__name__}, which is not JSON",
        hint="Use texts, numbers, true, false, null, lists and objects.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """A document with its statement checked and embedded, outside any write."""

    putting: Putting
    value: Any
    scope: Scope
    prepared: Prepared | None = None
    refusal: str | None = None
    """The code of the reason why nothing may be remembered of it."""


def ready(putting: Putting, gate: Gate, *, scope: Scope, now: datetime) -> Ready:
    """Check a document and its statement, and embed it; raises where it cannot lie on the shelf."""
    check_names((*putting.place, putting.key or ""))
    made = Ready(putting=putting, value=plain(putting.value), scope=scope)
    text = None if putting.memory_id is not None or putting.text is None else clean(putting.text)
    if not text or not is_text(text):
        return made
    draft = Draft(
        content=fitting(text, gate.policy.max_memory_bytes),
        scope=scope,
        provenance=Provenance(source=putting.source),
        forget_after=None if putting.lifetime is None else now + putting.lifetime,
        extractor=SHELVED,
    )
    refusals: list[EngramError] = []
    prepared = prepare([draft], gate, now=now, on_rejection=refusals.append)
    if refusals:
        return replace(made, refusal=refusals[0].code)
    return replace(made, prepared=prepared)


def check_names(names: Sequence[str]) -> None:
    """Raise unless these can name a place and a key."""
    for name in names:
        if not isinstance(name, str) or not is_text(name):
            raise InvalidContent("a key or a name in a place is not text")
        if len(name) > MAX_NAME_CHARACTERS:
            raise ContentTooLarge(
                f"a key or a name in a place has {len(name)} characters, at most {MAX_NAME_CHARACTERS}"
            )


def fitting(text: str, max_bytes: int) -> str:
    """Return as much of the beginning of a text as may be stored, up to a space where there is one."""
    written = text.encode(errors="replace")
    if len(written) <= max_bytes:
        return text
    cut = written[:max_bytes].decode(errors="ignore")
    return cut.rsplit(None, 1)[0] if " " in cut else cut
