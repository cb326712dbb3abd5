"""Words that surfaces share: meanings of fields and presets, sentences about answers."""

from __future__ import annotations

import ast
import inspect
import itertools
import textwrap
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import Final

from msgspec import Struct

from engramdb.policy import aging
from engramdb.text.dates import long_date, readable
from engramdb.text.normalize import normalize_text
from engramdb.values import (
    Answered,
    AnswerOutcome,
    Memory,
    Reason,
    Reflection,
    SaidTurn,
    Scope,
)

SHORT_ID = 8
"""The characters at the end of an id that stand for the whole."""
BALANCED = "Dates, fading and importance decide together; what a person asked to remember does not fade away."
"""The preset that has no constant of its own: everything at its default."""


def field_meanings(owner: type) -> dict[str, str]:
    """Return the string literal below each field of a class, those that it inherits included."""
    found: dict[str, str] = {}
    for one in reversed(owner.__mro__):
        if one is owner or one.__module__.startswith("engramdb."):
            (definition,) = ast.parse(textwrap.dedent(inspect.getsource(one))).body
            assert isinstance(definition, ast.ClassDef)  # noqa: S101 - the source of a class
            found |= _literals(definition.body)
    return found


def constant_meanings(module: ModuleType) -> dict[str, str]:
    """Return the string literal below each constant of a module."""
    return _literals(ast.parse(inspect.getsource(module)).body)


def preset_sentence(name: str) -> str:
    """Return what a preset is like, in one sentence."""
    return constant_meanings(aging).get(name.upper(), BALANCED)


def summary(owner: type) -> str:
    """Return the first paragraph of a class's docstring as one line."""
    return (inspect.getdoc(owner) or "").partition("\n\n")[0].replace("\n", " ")


def _literals(body: Sequence[ast.stmt]) -> dict[str, str]:
    found = {}
    for statement, below in itertools.pairwise(body):
        name, text = _assigned(statement), _text(below)
        if name is not None and text is not None:
            found[name] = text
    return found


def _assigned(statement: ast.stmt) -> str | None:
    """Return the name that a statement gives a value to, where it is one name."""
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    return targets[0].id if len(targets) == 1 and isinstance(targets[0], ast.Name) else None


def _text(statement: ast.stmt) -> str | None:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        value = statement.value.value
        return value if isinstance(value, str) else None
    return None


class Part(Struct, frozen=True):
    """A name that a newcomer understands, and a phrase on what the part does."""

    name: str
    does: str = ""


PARTS: Final = {
    "write": Part("write", "stores and changes memories"),
    "recall": Part("recall", "answers questions"),
    "read notes": Part("recall counts", "notes what was recalled when, which keeps it from fading"),
    "reading": Part("extraction", "takes memories out of what was said"),
    "context": Part("context", "fills prompts with what is known"),
    "reason": Part("reason", "follows a question through several recalls"),
    "embedder": Part("embedder", "turns text into vectors, to find it by meaning"),
    "chat model": Part("chat model", "the language model from the settings"),
    "reader": Part("reader", "reads sentences beside the rules"),
    "guard model": Part("guard model", "finds private words and text that steers an agent"),
    "audit": Part("audit", "notes who searched and what was refused"),
    "judge": Part("judge", "compares pairs of statements beside the rules"),
    "index snapshot": Part("vector file", "keeps all vectors in one file, for a quick start"),
    "aging": Part("aging", "lets memories fade, expire and rise"),
    "dream": Part("dream", "merges and connects memories while nobody asks"),
    "turns": Part("turns", "notes how each turn of an agent ended"),
    "attention": Part("working memory", "keeps what an agent attends to"),
    "scheduler": Part("scheduler", "starts the work in the background"),
    "backfill in the background": Part("embedding in the background", "embeds and judges what waits"),
    "aging in the background": Part("aging in the background", "ages when it is time"),
    "dream in the background": Part("dream in the background", "dreams when it is quiet"),
    "anticipation in the background": Part("anticipation", "looks up what an agent may need next"),
    "hook": Part("hook", "hears coding agents, and tells them what is known"),
}


def part(name: str) -> Part:
    """Return what to call a part, and what it does where that is known."""
    return PARTS.get(name, Part(name))


def hidden_scope(names: Iterable[str], scope: Scope) -> str | None:
    """Return the first of the scopes in words that this scope does not see, if there is one."""
    seen = {str(one) for one in scope.visible()}
    return next((name for name in names if name not in seen), None)


def is_said_otherwise(memory: Memory, content: str) -> bool:
    """Return whether a memory stands for a statement in other words: merged into it, or known before."""
    said, known = normalize_text(content), normalize_text(memory.content)
    return known not in said and said not in known and said != normalize_text(memory.verbatim or "")


SAID: Final = "said, not kept as a memory"
FLAGGED: Final = "reads like an instruction to an agent"
"""How every surface marks what recall found in turns alone."""
NOT_REPLACED: Final = (
    "Not replaced: it is pinned or about health, so only the user changes it. What you stated is stored "
    "beside it, and it counts as disputed: ask the user which holds."
)
"""What a model is told that wanted to correct such a memory."""


def speaker_of(said: SaidTurn) -> str:
    """Return who said it: by name where that is known."""
    return said.speaker or said.role.value


class Wording(Struct, frozen=True):
    """One signal: a word for a short list, and a phrase that completes "found by …"."""

    word: str
    phrase: str


WORDINGS: Final = {
    "lexical": Wording("words", "its words"),
    "topic": Wording("topic", "what it is about"),
    "vector": Wording("meaning", "its meaning"),
    "session": Wording("neighbors", "what was said around it"),
    "subject": Wording("who", "whom it is about or who said it"),
    "time": Wording("when", "the time it is about"),
    "graph": Wording("links", "its links to others"),
    "linked": Wording("links", "its links to others"),
    "entity": Wording("names", "the names in it"),
    "late": Wording("single words", "single words like those of the question"),
    "relation": Wording("relation", "the relation that was asked for"),
    "hop": Wording("another hit", "a name in another hit"),
    "answers": Wording("reading", "a model that read it beside the question"),
    "replaced": Wording("what it replaced", "what it took the place of"),
    "disputes": Wording("dispute", "what it speaks against"),
    "turns": Wording("talk", "what was said"),
    "asked": Wording("asked", "the name of the secret that was asked for"),
}


def word(index: str) -> str:
    """Return what an index or signal looks at, in a word."""
    return WORDINGS[index].word if index in WORDINGS else index


def phrase(index: str) -> str:
    """Return the same so that it completes "found by …"."""
    return WORDINGS[index].phrase if index in WORDINGS else index


def words(reasons: Iterable[Reason]) -> list[str]:
    """Return what spoke for a hit, each once, what gave most first."""
    best_first = sorted(reasons, key=lambda reason: -reason.contribution)
    return list(dict.fromkeys(word(reason.index) for reason in best_first if reason.contribution > 0))


# What an answer to an open question did.

_ANSWERED: Final = {
    AnswerOutcome.CONFIRMED: "confirmed",
    AnswerOutcome.INVALIDATED: "no longer holds",
    AnswerOutcome.CORRECTED: "corrected",
    AnswerOutcome.CHOSEN: "settled",
    AnswerOutcome.KEPT_BOTH: "both hold, and are not asked about again",
    AnswerOutcome.REMEMBERED: "remembered",
    AnswerOutcome.CHALLENGED: (
        "disputed for now: only the person can change what is pinned or about health; the question stays open"
    ),
    AnswerOutcome.CLOSED: "closed; no memory is changed by it",
}


def answered_in_words(answered: Answered) -> str:
    """Return what an answer did."""
    until = answered.question.snoozed_until
    if answered.outcome is AnswerOutcome.SNOOZED and until is not None:
        return f"not asked again before {long_date(until)}"
    return _ANSWERED[answered.outcome]


# What a look at the knowledge has found, as lines.


def reflection_lines(found: Reflection) -> dict[str, list[str]]:
    """Return the findings of a reflection by name, each as a line; what was not found is left out."""
    lines = {
        "duplicates": [" = ".join(map(_named_memory, group)) for group in found.duplicates],
        "stale": [f"{_named_memory(one)}, said {long_date(one.last_stated_at)}" for one in found.stale],
        "disputed": [
            f"{_named_memory(one.memory)} against {_named_memory(one.other)}"
            if one.other
            else _named_memory(one.memory)
            for one in found.disputed
        ],
        "doubtful": [
            f"{_named_memory(one.memory)} since {_named_memory(one.change)}" for one in found.doubtful
        ],
        "questions": [f"[{gap.id[-SHORT_ID:]}] {gap.question}" for gap in found.questions],
    }
    return {name: told for name, told in lines.items() if told}


def _named_memory(memory: Memory) -> str:
    return f"[{memory.id[-SHORT_ID:]}] “{readable(memory)}”"
