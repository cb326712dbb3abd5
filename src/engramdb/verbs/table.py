"""Every verb: importing this module declares all of them, in the order in which the help shows them."""

from __future__ import annotations

from collections.abc import Mapping

from engramdb.verbs import aging, conversation, dreaming, memories, questions, store
from engramdb.verbs.verb import Verb, verbs

SUBJECTS = (memories, conversation, questions, aging, dreaming, store)
VERBS: Mapping[str, Verb] = verbs()
"""By name; a verb that is declared later, such as by a test, is in it at once."""


def verbs_of_engine() -> dict[str, Verb]:
    """Return the verbs by the engine's method, which is what authorization sees."""
    return {one.method.rpartition(".")[2]: one for one in VERBS.values()}
