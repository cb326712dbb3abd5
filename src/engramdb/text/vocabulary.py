"""
The verbs that extraction understands, and the small vocabulary of predicates they stand for.

Used by `propositions`, `clauses` and `relations`. A predicate names a slot that settling compares: two
statements with the same subject and predicate speak of the same thing. `is_exclusive` says whether only one
object can fill the slot at a time: a person lives in one place, but likes many things.
"""

from __future__ import annotations

import re

from engramdb.text.lexicons import english, word_set
from engramdb.text.normalize import lazy
from engramdb.text.persons import ADVERBS

VERBS = {verb: predicate for predicate, verbs in english().predicates.items() for verb in verbs.split()}
"""A verb's base form, and the predicate it stands for."""

THING_VERBS = word_set(english().verbs.of_things)
"""What may be said of someone or something other than the speaker."""

EVENT_VERBS = word_set(english().verbs.events)
"""Doings that are remembered as moments when they lie in the past."""

VAGUE_EVENTS = word_set(english().verbs.vague_events)
"""Doings that are kept only with a date or where they say enough."""

STATE_CHANGES = word_set(english().verbs.state_changes)
"""Past doings that change what holds now."""

PASSING_VERBS = word_set(english().verbs.passing)
"""What people say they do in passing; present tense without a date it is not worth keeping."""

EXCLUSIVE = word_set(
    "lives_in works_at works_as is_named born_on born_in age is_married_to deadline name email phone "
    "phone_number address birthday job role title employer shell editor username handle github_handle "
    "timezone time_zone wife husband partner spouse manager boss landlord password major nationality "
    "mother_tongue native_language operating_system os goal motto last_name first_name surname wakes_up "
    "meant reports_to located_in due_date database server programming_language owner maintainer version port "
    "url region licence license budget price headquarters capital ceo cto director president currency limit "
    "timeout default status lead"
)


def is_exclusive(predicate: str) -> bool:
    """Say whether only one object can fill this slot at a time; a favourite is one per topic."""
    return predicate in EXCLUSIVE or predicate.startswith("favourite_")


_LISTED = "use|like|love|enjoy|adore|hate|dislike|speak|play|eat|drink|collect|know|own|study|teach"
LISTABLE_VERBS = lazy(
    rf"(?P<head>(?:i|we|he|she|they|my [\w'’]+(?: [\w'’]+)?|our [\w'’]+|[A-Z][\w'’]+)\s+(?:(?:{ADVERBS}|"
    rf"don['’]t|do not|can['’]t|can|doesn['’]t)\s+)*(?:(?:{_LISTED})s?|(?:studi|teach)es|am allergic to|"
    rf"is allergic to)\s+(?:how to\s+)?"
    r"|(?:i['’]m|i am|she is|he is|we are)\s+(?:(?:not|also|very|deeply|severely)\s+)*(?:allergic to|"
    r"fluent in|intolerant to|interested in|good at|bad at|fond of|afraid of|a fan of)\s+)",
    re.IGNORECASE,
)
"""The beginning of a clause whose objects may be told apart: "I like ", "I'm allergic to "."""

PETS = lazy(
    r"\b(?:dogs?|cats?|pupp(?:y|ies)|kittens?|parrots?|hamsters?|rabbits?|bunn(?:y|ies)|pets?|horses?|"
    r"guinea pigs?|turtles?|goldfish|budgies?|snakes?|ferrets?)\b",
    re.IGNORECASE,
)
KIN = lazy(
    r"\b(?:wife|husband|spouse|partner|girlfriend|boyfriend|fianc[eé]e?|sons?|daughters?|kids?|child|"
    r"children|bab(?:y|ies)|twins|mother|father|mom|mum|dad|parents|sisters?|brothers?|siblings?|grandma|"
    r"grandpa|grandmother|grandfather|grandparents|grandson|granddaughter|aunt|uncle|cousins?|niece|nephew|"
    r"(?:mother|father|sister|brother|son|daughter)-in-law|boss|manager|colleagues?|coworkers?|friends?|"
    r"roommates?|flatmates?|neighbou?rs?|landlord|landlady|mentor|teammates?|family)\b",
    re.IGNORECASE,
)
"""People as they are named by what they are to someone."""

ROLES = lazy(
    rf"(?:my|our)\s+(?:[\w-]+\s+){{0,2}}?(?:{KIN.pattern}|CTO|CEO|CFO|COO|lead|tech lead|therapist|doctor|"
    rf"dentist|lawyer|"
    r"accountant|teacher|coach|tutor|assistant|client|customer|contact|student|trainer|director|designer)\b",
    re.IGNORECASE,
)


RELATION_QUESTIONS = {
    "lives_in": "where {} lives",
    "works_at": "where {} works",
    "works_as": "what {} works as",
    "born_on": "when {} was born",
    "born_in": "where {} was born",
    "is_named": "what {} is called",
    "is_married_to": "whom {} is married to",
    "is_allergic_to": "what {} is allergic to",
    "age": "how old {} is",
    "uses": "what {} uses",
    "likes": "what {} likes",
    "prefers": "what {} prefers",
    "has_pet": "which pet {} has",
}
"""How a relation is asked for: the subject goes into the braces."""


def relation_words(predicate: str) -> str:
    """Return the words by which a relation is asked for; none for one that has no question of its own."""
    return RELATION_QUESTIONS.get(predicate, "").format("")
