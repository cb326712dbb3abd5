"""
Tell what a model summed up from what it made up.

Called by the steps that let a chat model write; pure. A sentence may bring words of its own, or it could
generalise nothing, but no name, number, path or address, and it may not deny what no source denies. What
reads like an instruction is not kept, whoever wrote it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.dream.merging.wording import read
from engram.text.entity_names import fold_name
from engram.text.injection import scan
from engram.text.mentions import mentions
from engram.text.technologies import technology_class
from engram.text.traits import infer_traits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.policy import CapturePolicy

_DENIAL = "not"


def invention(sentence: str, sources: Sequence[str], policy: CapturePolicy) -> str | None:
    """Return in a few words what a sentence has that its sources do not, or None; never quotes either."""
    known = [read(one) for one in sources]
    words = frozenset[str]().union(*(one.bag for one in known))
    if not _telling(sentence) <= words or not _names_of(sentence) <= _folded(sources):
        return "a name or a number of its own"
    if _DENIAL in read(sentence).marks and not any(_DENIAL in one.marks for one in known):
        return "a denial of its own"
    traits = infer_traits(sentence)
    whole = "\n".join(sources).casefold()
    if any(one.casefold() not in whole for one in (*traits.paths, *traits.urls)):
        return "a path or an address of its own"
    return "an instruction" if scan(sentence).score >= policy.injection_flag_above else None


def _telling(sentence: str) -> frozenset[str]:
    """Return the numbers, the technologies and what is written large inside a sentence, as stems."""
    inside = [
        word for place, word in enumerate(sentence.split()) if place and word.strip("([“\"'")[:1].isupper()
    ]
    named = (key for key in read(sentence).named if key[:1].isdigit() or technology_class(key) is not None)
    return frozenset(named) | read(" ".join(["…", *inside])).bag


def _names_of(text: str) -> frozenset[str]:
    return frozenset(word for one in mentions(text) for word in fold_name(one.text, one.type).split())


def _folded(sources: Sequence[str]) -> frozenset[str]:
    """Return every word of the sources in the form in which names are compared."""
    return frozenset(word for one in sources for word in fold_name(one).split()) | frozenset(
        word for one in sources for word in _names_of(one)
    )
