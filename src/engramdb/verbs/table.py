"""Every verb: importing this module declares all of them."""

from __future__ import annotations

from collections.abc import Mapping

from engramdb.verbs import aging, conversation, dreaming, memories, questions, store
from engramdb.verbs.verb import Verb, verbs

SUBJECTS = (memories, questions, conversation, aging, dreaming, store)
"""In the order in which helps and references show them."""
VERBS: Mapping[str, Verb] = verbs()
"""By name; a verb that is declared later, such as by a test, is in it at once."""
_PLACES = {one.__name__: place for place, one in enumerate(SUBJECTS)}


def in_order() -> list[Verb]:
    """Return the verbs by their subjects, each in the order of its declarations."""
    return sorted(VERBS.values(), key=lambda one: _PLACES.get(one.request.__module__, len(_PLACES)))


def verbs_of_engine() -> dict[str, Verb]:
    """
    Return the verbs by the engine's method, which is what authorization sees.

    The first that is declared counts: a verb that is added later cannot change what another may do.
    """
    found: dict[str, Verb] = {}
    for one in VERBS.values():
        found.setdefault(one.method.rpartition(".")[2], one)
    return found
