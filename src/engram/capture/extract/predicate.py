"""
Bring a model's predicate to the vocabulary that settling compares.

Called by `extract.believe`; pure. The heuristic takes its predicates from a small vocabulary; a model writes
"resides in", "Lives-In" or "moved to". Unless all end in one slot, what one extractor learned could never be
replaced by what the other learns. What the vocabulary does not know stays as it was written.
"""

from __future__ import annotations

from typing import Final

from engram.capture.extract.verbs import bases
from engram.capture.extract.vocabulary import EXCLUSIVE, VERBS
from engram.text.lazy import lazy

_GAP = lazy(r"[\s_-]+")
_KNOWN: Final = EXCLUSIVE | frozenset(VERBS.values()) | {"has_pet", "is_allergic_to", "is"}
_OTHER_WORDS: Final = {
    **dict.fromkeys(["works_for", "employed_by", "is_employed_by", "employed_at"], "works_at"),
    **dict.fromkeys(["moved_to", "relocated_to", "is_based_in", "based_in", "living_in"], "lives_in"),
    **dict.fromkeys(["switched_to", "migrated_to", "changed_to", "is_using"], "uses"),
    **dict.fromkeys(["name", "named", "is_called", "called", "has_name", "name_is"], "is_named"),
    **dict.fromkeys(["occupation", "profession", "has_job"], "works_as"),
    **dict.fromkeys(["allergic_to", "has_allergy", "has_allergy_to"], "is_allergic_to"),
    **dict.fromkeys(["married_to", "is_the_spouse_of"], "is_married_to"),
    **dict.fromkeys(["was_born_in", "birthplace"], "born_in"),
    **dict.fromkeys(["was_born_on", "birthday", "date_of_birth"], "born_on"),
    **dict.fromkeys(["has_a_pet", "owns_pet"], "has_pet"),
    **dict.fromkeys(["is_age", "has_age"], "age"),
}


def canonical(predicate: str) -> str:
    """Return the slot that the predicate names: "Lives in" → lives_in, "loves" → likes."""
    words = _GAP.sub("_", predicate.casefold()).strip("_").replace("favorite", "favourite")
    if words in _OTHER_WORDS:
        return _OTHER_WORDS[words]
    if words in _KNOWN:
        return words
    verb, _, rest = words.partition("_")
    slots = [VERBS[base] for base in bases(verb) if base in VERBS]
    # A preposition belongs to a verb only where the slot has it too: "lives in", but not "plays for".
    return next((slot for slot in slots if not rest or slot.endswith(f"_{rest}")), words)
