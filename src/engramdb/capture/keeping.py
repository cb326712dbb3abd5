"""
Which sentences of a conversation are kept, and how each is meant: the rules, and a reader where there is one.

What is not kept as a memory is still found among the turns.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from engramdb.capture import junk
from engramdb.capture.patterns import read_foreign, read_outcome, read_rule
from engramdb.capture.utterances import MAX_FRAGMENT_WORDS, SpokenSentence
from engramdb.capture.worth import FORCE_CONFIDENCE, dates_in, is_lasting
from engramdb.text.clauses import Who, clauses, read
from engramdb.text.force import bare_words, has_cue, read_force
from engramdb.text.line_shapes import LineShape, shape_of
from engramdb.text.normalize import lazy
from engramdb.text.quotations import quotations
from engramdb.text.sentences import SpeakerCertainty
from engramdb.text.withdrawals import is_withdrawal
from engramdb.values import Role, Voice
from engramdb.values.reading import Force, Reading

_CONCRETE = lazy(r"\d|`|[\w-]+\.[a-z]{2,4}\b|\w/\w|_\w|(?<=\s)[A-Z][\w-]+")
"""What makes an assistant's sentence more than an explanation: a number, a name, a file, a command."""


class _Leasts(Struct, frozen=True):
    """From which chance of being worth keeping a sentence is kept; below it, the index of turns has it."""

    user: float
    assistant: float
    in_passing: float
    """Of a question, a request or what has the shape of noise, for what it tells beside."""
    rule: float
    """From which chance it is a rule that has no words of one;"""
    confirmed_rule: float
    """and from which one that has them."""


BY_NETWORK = _Leasts(user=0.15, assistant=0.1, in_passing=0.3, rule=0.65, confirmed_rule=0.2)
BY_HEADS = _Leasts(user=0.1, assistant=0.15, in_passing=0.5, rule=0.75, confirmed_rule=0.08)
"""Chosen on the open halves of evals/junk and evals/conversations; the heads on LoCoMo too (lab 43)."""
MIN_TELLING_WORDS = 4
"""Fewer are a mash of keys, whatever a network makes of them."""
UNSURE_SHARE = 0.5
QUOTED_SHARE = 0.5
"""Of the words of a sentence; where fewer are the speaker's own, it is a quotation."""
QUOTED_PLACE = "…"
MIN_QUOTED_WORDS = 3
"""Fewer are a name."""
CONCRETE_SHARE = 0.5
"""An assistant's sentence that names a number, a file or a person needs only this part of the chance."""


def force_of(said: SpokenSentence, reading: Reading | None) -> Force:
    """Return how a sentence is meant: by its words, and by what a reader is sure of."""
    if said.voice is not Voice.OWN or _is_mostly_quoted(said.text):
        return Force.QUOTED
    force = _rule_or(
        read_force(replace(said.opened, text=own_part(said.text)), in_conversation=True), said, reading
    )
    if (
        force is Force.ASSERTED
        and reading is not None
        and reading.force in FORCE_CONFIDENCE
        and reading.is_by_network
    ):
        force = reading.force or force
    if said.opened.certainty is SpeakerCertainty.EXPLICIT and force in (Force.QUESTION, Force.REQUEST):
        force = Force.ASSERTED  # "can you remember that our year starts in April?" tells, and asks nothing
    return force


def _rule_or(force: Force, said: SpokenSentence, reading: Reading | None) -> Force:
    """
    Return whether a sentence sets a rule, or else how it was meant.

    What has the words of a rule is one unless a reader finds next to nothing of it there ("dont ask"); what
    has not may be one still ("no pip!! everything is pixi here"). What others lay down, or an idiom, is none.
    """
    words = bare_words(said.text)
    if is_withdrawal(said.text):
        return Force.ASSERTED if force is Force.RULE else force
    if has_cue("others_rule", words):
        return Force.QUOTED if force is Force.RULE else force
    chance, leasts = (reading.rule, _leasts(reading)) if reading is not None else (None, None)
    if force is Force.RULE:
        is_doubted = chance is not None and leasts is not None and chance < leasts.confirmed_rule
        return Force.ASSERTED if is_doubted or has_cue("idiom", words) else force
    is_told = force in (Force.ASSERTED, Force.REQUEST) and said.turn.role is Role.USER
    is_sure = chance is not None and leasts is not None and chance >= leasts.rule
    is_quoting = own_part(said.text) != said.text
    return Force.RULE if is_told and is_sure and not (is_quoting or has_cue("idiom", words)) else force


def _is_mostly_quoted(text: str) -> bool:
    """Return whether most words of a sentence are somebody else's: 'the poster says "never use npm"'."""
    own = len(own_part(text).split())
    return 0 < own < QUOTED_SHARE * len(text.split())


def own_part(text: str) -> str:
    """Return a sentence without what it quotes from others, of which nothing may be read as the speaker's."""
    for start, end in reversed(list(quotations(text))):
        if len(text[start:end].split()) >= MIN_QUOTED_WORDS:
            text = f"{text[:start]}{QUOTED_PLACE}{text[end:]}"
    return text


def _leasts(reading: Reading) -> _Leasts:
    return BY_NETWORK if reading.is_by_network else BY_HEADS


def is_kept(said: SpokenSentence, force: Force, reading: Reading | None) -> bool:
    """Return whether a sentence becomes a memory."""
    if said.opened.certainty is SpeakerCertainty.EXPLICIT and said.turn.role is Role.USER:
        return True
    if said.voice is not Voice.OWN:
        return said.turn.role is Role.TOOL or _is_foreign_kept(said, reading)
    if _is_noise(said) and not (reading is not None and _is_more_than_noise(said, reading)):
        return said.is_answer_of_weight and said.turn.role is Role.USER
    keep = _assistant_kept if said.turn.role is Role.ASSISTANT else _user_kept
    return keep(said, force, reading)


def _is_foreign_kept(said: SpokenSentence, reading: Reading | None) -> bool:
    """Return whether a sentence that was put into a message is one; of output the turns have the words."""
    is_output = said.voice in (Voice.LOG, Voice.CODE) or junk.is_filler(said.text)
    if is_output or len(said.text.split()) <= MAX_FRAGMENT_WORDS:
        return False
    if reading is None or reading.keep is None or not reading.is_by_network:
        return True
    return reading.keep >= _leasts(reading).user


def _is_noise(said: SpokenSentence) -> bool:
    """Return whether a sentence has the shape of one that tells nothing: filler, output, talk of work."""
    is_talk = said.turn.role is Role.ASSISTANT and junk.is_progress(said.sentence)
    is_log = shape_of(said.sentence) is LineShape.LOG
    is_output = junk.is_output(said.text) and read(said.text) is None
    return is_talk or is_log or is_output or junk.is_filler(said.text)


def _is_more_than_noise(said: SpokenSentence, reading: Reading) -> bool:
    """Return whether a network finds something in it all the same: "brb, school run. every day at 3"."""
    return reading.is_by_network and len(said.text.split()) >= MIN_TELLING_WORDS and _tells(reading)


def _tells(reading: Reading) -> bool:
    """Return whether a reader finds so much in a sentence that its shape does not count."""
    return reading.keep is not None and reading.keep >= _leasts(reading).in_passing


def _user_kept(said: SpokenSentence, force: Force, reading: Reading | None) -> bool:
    if force is Force.RULE or (force in (Force.ASSERTED, Force.HEDGED) and _lasts(said)):
        return True
    if force in (Force.QUESTION, Force.REQUEST):
        is_decision = force is Force.REQUEST and said.answers is not None
        return is_decision or (reading is not None and _tells(reading))
    if said.is_answer_of_weight or reading is None or reading.keep is None:
        return True
    if not reading.is_by_network and _says_of_something(said):
        return True
    # what is only guessed, imagined or quoted is seldom worth much, and kept as such
    share = 1 if force is Force.ASSERTED else UNSURE_SHARE
    return reading.keep >= _leasts(reading).user * share


def _says_of_something(said: SpokenSentence) -> bool:
    """Return whether a sentence says something of a name or a thing, which the heads often miss."""
    clause = read(said.text)
    return clause is not None and clause.who in (Who.SPEAKER, Who.NAMED, Who.THING, Who.OWNED, Who.OURS)


def _lasts(said: SpokenSentence) -> bool:
    """Return whether the rules know a clause of the sentence to hold for longer."""
    if read_rule(said.text) or read_foreign(said.text):
        return True
    found = (read(part) for part in clauses(said.text))
    return any(is_lasting(clause, dates_in(clause, said.now)) for clause in found if clause)


def _assistant_kept(said: SpokenSentence, force: Force, reading: Reading | None) -> bool:
    if force is Force.QUESTION or said.text.rstrip(" )").endswith("?"):
        return False
    if junk.is_status(said.sentence):
        return False
    if read_outcome(said.text):
        return True
    if reading is None or reading.keep is None:
        return True
    return reading.keep >= _leasts(reading).assistant * (CONCRETE_SHARE if _CONCRETE.search(said.text) else 1)
