"""
The verbs that extraction understands, and the small vocabulary of predicates they stand for.

Used by `propositions`, `clauses` and `relations`. A predicate names a slot that settling compares: two
statements with the same subject and predicate speak of the same thing. `is_exclusive` says whether only one
object can fill the slot at a time: a person lives in one place, but likes many things.
"""

from __future__ import annotations

import re

from engramdb.text.normalize import lazy
from engramdb.text.persons import ADVERBS
from engramdb.text.verbs import word_set

VERBS: dict[str, str] = {
    **dict.fromkeys(["use", "employ"], "uses"),
    **dict.fromkeys(["like", "love", "enjoy", "adore"], "likes"),
    **dict.fromkeys(["hate", "dislike", "detest", "despise", "loathe"], "dislikes"),
    **dict.fromkeys(["prefer", "favor", "favour"], "prefers"),
    **dict.fromkeys(["live", "reside"], "lives_in"),
    **dict.fromkeys(["study", "major"], "studies"),
    **dict.fromkeys(["decide", "choose", "agree", "settle", "pick"], "decided"),
    **dict.fromkeys(["promise", "commit", "vow"], "promised"),
    **dict.fromkeys(["plan", "intend", "aim"], "plans"),
    **dict.fromkeys(["learn", "practise", "practice"], "learns"),
    "work": "works",
    "speak": "speaks",
    "own": "owns",
    "drive": "drives",
    "eat": "eats",
    "drink": "drinks",
    "know": "knows",
    "play": "plays",
    "teach": "teaches",
    "manage": "manages",
    "lead": "leads",
    "wear": "wears",
    "believe": "believes",
    "collect": "collects",
    "follow": "follows",
    "run": "runs",
    "have": "has",
    "build": "builds",
    "write": "writes",
    "read": "reads",
    "train": "trains",
    "support": "supports",
    "wake": "wakes_up",
    "sleep": "sleeps",
    "cook": "cooks",
    "bake": "bakes",
    "sing": "sings",
    "dance": "dances",
    "smoke": "smokes",
    "rent": "rents",
    "commute": "commutes",
    "attend": "attends",
    "volunteer": "volunteers",
    "keep": "keeps",
    "maintain": "maintains",
    "belong": "belongs_to",
    "take": "takes",
    "need": "needs",
    "deploy": "deploys",
    "ship": "ships",
    "store": "stores",
    "host": "hosts",
    "test": "tests",
    "put": "puts",
    "swim": "swims",
    "paint": "paints",
    "ride": "rides",
    "travel": "travels",
    "go": "goes",
    "do": "does",
    "grow": "grows",
    "start": "starts",
    "finish": "finishes",
    "pay": "pays",
    "earn": "earns",
    "save": "saves",
}
"""A verb's base form, and the predicate it stands for."""

THING_VERBS = word_set(
    "run use live work have need expire rotate meet start end cost require depend support contain belong "
    "host handle store leave connect listen deploy ship follow close open sit arrive take call return send "
    "accept speak like love hate prefer enjoy eat drink own drive study teach play believe know wear "
    "manage lead write build close break give move join graduate retire die win want allow expose serve "
    "read talk point depart fly land happen last pay charge cover include provide own train volunteer "
    "attend collect cook bake sing dance dislike hike turn celebrate visit buy adopt marry quit stop "
    "switch release launch report rely consist"
)
"""What may be said of someone or something other than the speaker."""

EVENT_VERBS = word_set(
    "move buy adopt join leave quit marry graduate break win finish complete start build found launch "
    "visit meet lose sell publish learn become retire deploy ship fix merge switch replace migrate upgrade "
    "release sign submit paint run climb travel receive pass fail complete earn order cancel book attend "
    "celebrate give teach propose resign hire fire break crash injure fall recover donate plant cook bake "
    "write record film perform compete enter open close install configure refactor rewrite redeploy "
    "rollback revert update create delete remove add register enroll apply interview accept reject swap "
    "trade convert stop begin divorce separate relocate settle inherit bring take go fly drive see watch "
    "read hear discover find"
)
"""Doings that are remembered as moments when they lie in the past."""

VAGUE_EVENTS = word_set(
    "go see watch read hear find take bring add remove update start see begin open close run"
)
"""Doings that are kept only with a date or where they say enough."""

STATE_CHANGES = word_set(
    "switch move migrate relocate convert upgrade join leave quit stop replace swap trade"
)
"""Past doings that change what holds now."""

PASSING_VERBS = word_set(
    "see agree guess wonder mean understand get hope wish think feel want hear try suppose notice ask say "
    "thank appreciate apologise apologize bet doubt remember forget care mind look seem sound check find "
    "disagree confirm expect wanna gonna gotta picture love'd imagine assume reckon figure recommend "
    "suggest beg swear trust expect admit regret miss tell give stand let come bring show call wait hold "
    "end need do run go take put keep start read save"
)
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
