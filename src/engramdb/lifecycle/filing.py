"""
Filing: the layer, type, kind, category, force and lasting of a statement, for every way in.

What the caller says stands. The rest follows from the category, from what the speaker does with the words and
from the words themselves: what tells how to act is procedural, what has happened or passes is episodic, what
holds until something replaces it is semantic. A guess, a quotation or a question is no knowledge.
docs/concepts/filing.md has the rules as tables.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from engramdb.lifecycle.drafts import Draft, in_utc
from engramdb.text.statements import HAPPENED, StatementSort, sort_statement
from engramdb.values import Kind, Layer, Memory, MemoryType, Provenance, Source
from engramdb.values.memory import Voice
from engramdb.values.query import parse_enum
from engramdb.values.reading import Force, Lasting

_UNMEANT = frozenset({Force.QUESTION, Force.HYPOTHETICAL, Force.REQUEST})
"""What was said without being meant as true or as a rule."""
_UNSURE = frozenset({Force.HEDGED, Force.QUOTED})
_DECIDED = "decision"
"""It says what to do, and is known like a fact: what was decided holds until something else is."""
_KNOWN_DOING = frozenset({_DECIDED, "skill"})
_DUE = frozenset({"commitment", "task", "todo", "reminder", "plan"})
"""Categories of what is over once it is done."""


class Filing(Struct, frozen=True, kw_only=True):
    """Where a statement belongs."""

    layer: Layer
    type: MemoryType
    kind: Kind
    category: str
    force: Force
    lasting: Lasting


def file_draft(draft: Draft, content: str, *, now: datetime) -> Filing:
    """Return where a draft belongs; what it says itself is never overruled."""
    seen_from = in_utc("said_at", draft.said_at) or in_utc("occurred_at", draft.occurred_at) or now
    sort = sort_statement(content, now=seen_from, force=draft.force, category=draft.category)
    if draft.category is None:
        sort = replace(sort, category=_trusted_category(sort.category, draft.provenance))
    layer, type_, kind = _given(draft)
    lasting = _lasting(draft, sort)
    is_own = draft.provenance.voice is Voice.OWN
    type_ = type_ or _type(sort, layer, kind, is_own=is_own)
    if layer is None:
        layer = _layer(sort, type_, kind, lasting, is_own=is_own)
        if layer is Layer.PROCEDURAL and not (draft.category or draft.type or _may_instruct(draft)):
            layer = Layer.SEMANTIC
    return Filing(
        layer=layer,
        type=type_,
        kind=kind or _kind(sort, type_, layer, lasting),
        category=sort.category,
        force=sort.force,
        lasting=lasting,
    )


def _lasting(draft: Draft, sort: StatementSort) -> Lasting:
    """Return for how long a draft holds: a reader that finds an allergy passing is not believed."""
    is_read = draft.extractor is not None
    if draft.lasting is None or (is_read and sort.is_permanent):
        return sort.lasting
    return draft.lasting


def _given(draft: Draft) -> tuple[Layer | None, MemoryType | None, Kind | None]:
    """Return the labels that a draft gives itself; raises for a word that is none."""
    return (
        None if draft.layer is None else parse_enum(Layer, draft.layer),
        None if draft.type is None else parse_enum(MemoryType, draft.type),
        None if draft.kind is None else parse_enum(Kind, draft.kind),
    )


def _trusted_category(category: str, made: Provenance) -> str:
    """
    Return a category that was read from words.

    Instructions and preferences stand in every window, so they must be a person's own: what an agent says is
    how to do something, and what an imported text says is a fact about it.
    """
    source = parse_enum(Source, made.source)
    if made.voice is not Voice.OWN:
        return "general"
    if source is Source.INGEST and category == "preference":
        return "fact"
    return "procedure" if category == "instruction" and source is not Source.HUMAN else category


def _may_instruct(draft: Draft) -> bool:
    """Return whether words alone may make a standing procedure: those of an imported text do not."""
    return parse_enum(Source, draft.provenance.source) is not Source.INGEST


def refiled(memory: Memory) -> Memory:
    """
    Return a memory of an earlier version as it would be filed now.

    What differs from the former defaults was chosen by somebody and stays, and so does a layer that a
    person holds.
    """
    is_stated = memory.extractor is None
    is_default_layer = memory.layer is Layer.EPISODIC and not memory.layer_held
    draft = Draft(
        content=memory.content,
        layer=None if is_default_layer else memory.layer,
        type=None if memory.type is MemoryType.FACT and is_default_layer else memory.type,
        kind=None if memory.kind is Kind.NOTE and is_stated else memory.kind,
        category=None if memory.category == "general" and is_stated else memory.category,
        provenance=memory.provenance,
        occurred_at=memory.when,
        lasting=memory.lasting,
        extractor=memory.extractor,
    )
    filing = file_draft(draft, memory.content, now=memory.stated_at)
    return memory.evolve(
        layer=filing.layer,
        type=filing.type,
        kind=filing.kind,
        category=filing.category,
        lasting=filing.lasting,
    )


def _type(sort: StatementSort, layer: Layer | None, kind: Kind | None, *, is_own: bool) -> MemoryType:
    if layer is Layer.PROCEDURAL:
        return MemoryType.PROCEDURE
    if not is_own:
        return MemoryType.FACT
    if sort.is_acting or sort.category == _DECIDED:
        return MemoryType.PROCEDURE
    if layer in (Layer.SEMANTIC, Layer.CODEBASE):
        return MemoryType.FACT
    if sort.force in _UNMEANT or (sort.is_event and kind is not Kind.NOTE):
        return MemoryType.NARRATIVE
    return MemoryType.FACT


def _layer(
    sort: StatementSort, type_: MemoryType, kind: Kind | None, lasting: Lasting, *, is_own: bool
) -> Layer:
    if kind is Kind.EPISODE or type_ is MemoryType.NARRATIVE or not is_own:
        return Layer.EPISODIC
    is_rule = sort.category not in _KNOWN_DOING or sort.force is Force.RULE
    if type_ is MemoryType.PROCEDURE and is_rule:
        return Layer.PROCEDURAL
    if sort.force in _UNMEANT or sort.force in _UNSURE:
        return Layer.EPISODIC
    is_once = sort.is_event or sort.category in _DUE or sort.category in HAPPENED
    return Layer.EPISODIC if is_once or lasting is Lasting.PASSING else Layer.SEMANTIC


def _kind(sort: StatementSort, type_: MemoryType, layer: Layer, lasting: Lasting) -> Kind:
    if layer not in (Layer.EPISODIC, Layer.WORKING):
        return Kind.NOTE
    is_state_of_now = lasting is Lasting.PASSING and sort.is_of_now
    return Kind.EPISODE if type_ is MemoryType.NARRATIVE or is_state_of_now else Kind.NOTE
