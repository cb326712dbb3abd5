"""How a sentence of a conversation is meant: what is said to an agent is often an order of the moment."""

from __future__ import annotations

import re

from engramdb.capture import junk
from engramdb.capture.patterns import read_rule
from engramdb.text.normalize import lazy
from engramdb.text.sentences import SpeakerCertainty
from engramdb.text.statements import read_force
from engramdb.values.reading import Force

_FICTION = lazy(
    r"\bin (?:my|our|the|this|her|his|their) (?:\w+ )?(?:novel|story|book|game|dream|script|screenplay|"
    r"campaign|movie|film|song|series|poem|play|fanfic|episode)\b|\b(?:narrator|protagonist|my character)\b|"
    r"\bonce upon a time\b|\b(?:jk|just kidding|j/k|/s)\b",
    re.IGNORECASE,
)
_UNSURE = lazy(
    r"\b(?:not sure|unsure|i'd have to check|dunno if|no idea if|thinking (?:about|of)|considering|tempted|"
    r"haven't decided|not decided|iirc|afaik|maybe|perhaps|possibly|might|probably)\b",
    re.IGNORECASE,
)


def force_of(text: str, certainty: SpeakerCertainty = SpeakerCertainty.PLAIN) -> Force:
    """Return what a speaker does with a sentence, which is without its opening words."""
    lower = text.lower().replace("’", "'")
    telling = (
        (Force.QUOTED, _FICTION.search(lower)),
        (Force.RULE, read_rule(text)),
        (Force.QUESTION, junk.is_question(lower) or junk.is_bare_question(lower)),
        (Force.REQUEST, junk.is_request(lower) or junk.is_command(text)),
    )
    known = next((force for force, applies in telling if applies), None) or read_force(text)
    is_unsure = certainty <= SpeakerCertainty.HEDGED or _UNSURE.search(lower)
    return Force.HEDGED if known in (Force.ASSERTED, Force.HYPOTHETICAL) and is_unsure else known
