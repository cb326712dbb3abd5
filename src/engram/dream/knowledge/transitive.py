"""
Read relations that carry on: what is part of what, where it lies, who reports to whom, what depends on what.

Called by the step `inference` for every statement; pure. Cautious: a whole short sentence in the present
tense between two plain names or nouns, nothing around it, no pronoun, no condition. Everything else says
nothing here, however clear it is to a reader.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engram.kept import kept
from engram.text.entity_names import fold_name
from engram.text.lazy import lazy
from engram.text.mentions import type_of
from engram.values import EntityType

if TYPE_CHECKING:
    from engram.values import Memory

_THING = r"[\w./@#+-]+(?: [\w./@#+-]+){0,4}"
_IS = r"(?:is|are)(?P<no{0}> not|n['’]t)? "
_DOES = r"(?:do|does)(?P<not{0}> not|n['’]t) "
_VERBS = {
    "part_of": _IS.format(0) + r"(?:an? )?(?:integral |core )?(?:part|component|module|subsystem) of",
    "located_in": _IS.format(1) + r"(?:located|situated|based) in",
    "in_place": _IS.format(2) + r"in",
    "kind_of": _IS.format(3) + r"an? (?:kind|type|sort|form) of",
    "reports_to": rf"(?:reports?|{_DOES.format(4)}report) to",
    "depends_on": rf"(?:depends?|{_DOES.format(5)}depend) on",
}
_SENTENCE = lazy(
    rf"(?P<subject>{_THING}?) (?P<verb>"
    + "|".join(f"(?P<{name}>{verb})" for name, verb in _VERBS.items())
    + rf") (?P<object>{_THING})\.?",
    re.IGNORECASE,
)
_MEANT = {
    **dict.fromkeys(("part_of", "is_part_of", "belongs_to", "component_of"), ("part_of", "is part of")),
    **dict.fromkeys(("located_in", "is_located_in", "situated_in"), ("located_in", "is located in")),
    **dict.fromkeys(("reports_to",), ("reports_to", "reports to")),
    **dict.fromkeys(("depends_on", "is_dependent_on"), ("depends_on", "depends on")),
    **dict.fromkeys(("kind_of", "subclass_of", "type_of", "is_a_kind_of"), ("kind_of", "is a kind of")),
}
"""What an extractor may call these relations, and how they are said."""
_UNCLEAR = frozenset(
    "i me my we us our you your he him his she her they them their it its this that these those there here "  # noqa: SIM905
    "one who what which where when if unless maybe perhaps probably and or but not no never only also "
    "currently formerly previously until was were be being been every some any".split()
)
_LONGEST_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Carried:
    """One thing, a relation that carries on, and another thing."""

    subject: str
    predicate: str
    object: str
    phrase: str
    """How the relation was said between the two."""
    is_denied: bool = False

    @property
    def ends(self) -> tuple[str, str]:
        """The two things in the form in which two ways of writing them are equal."""
        return fold_name(self.subject), fold_name(self.object)


def carried(memory: Memory) -> Carried | None:
    """Return the relation that a memory states, by its own words or by how an extractor put it, or None."""
    return _said(memory.content) or _put(memory)


def _put(memory: Memory) -> Carried | None:
    meant = _MEANT.get((memory.predicate or "").casefold())
    if meant is None or memory.subject is None or memory.object is None:
        return None
    found = Carried(memory.subject, meant[0], memory.object, meant[1])
    return found if _is_clear(memory.subject) and _is_clear(memory.object) else None


def _said(content: str) -> Carried | None:
    if len(content) > _LONGEST_CHARACTERS:
        return None
    told = _SENTENCE.fullmatch(" ".join(content.split()))
    if told is None or not (_is_clear(told["subject"]) and _is_clear(told["object"])):
        return None
    name = next(one for one in _VERBS if told[one])
    is_denied = any(value for key, value in told.groupdict().items() if key.startswith("no") and value)
    if name == "in_place":
        if not (told["subject"][0].isupper() and _is_place(told["object"])):
            return None
        name = "located_in"
    return Carried(told["subject"], name, told["object"], told["verb"], is_denied)


def _is_clear(thing: str) -> bool:
    """Say whether a few words name one thing, whoever reads them."""
    words = thing.casefold().split()
    return 0 < len(words) <= 5 and not any(word in _UNCLEAR for word in words)


@kept(2000)
def _is_place(name: str) -> bool:
    return type_of(name) is EntityType.LOCATION
