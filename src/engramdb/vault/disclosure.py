"""
Disclosure: which words may reach whom, and in which form. The one place that decides.

The security tier of a text and its audience give the form: whole, masked or absent. A secret is whole for a
person, or for an agent who may, only where it was asked for by name (`vault/asking.py`); no window, list or
page ever shows one. How words are masked is in `vault/masking.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from engramdb.text.pii import CONCEALED
from engramdb.values.document import Document
from engramdb.values.event import HistoryEvent
from engramdb.values.memory import INJECTION, Actor, ActorKind, Memory, SecurityTier
from engramdb.values.recall import SaidTurn
from engramdb.values.turn import Turn
from engramdb.vault.masking import (
    Secrets,
    mask_memory,
    mask_names,
    mask_numbers,
    mask_personal,
    mask_secrets,
    mask_session,
    mask_turns,
    tier_of_text,
)

Value = TypeVar("Value")


class Audience(StrEnum):
    """Where words go."""

    PERSON = "person"
    """An answer to a person: the library, the command line, the page."""
    AGENT = "agent"
    """An answer to an agent: MCP, HTTP with a token, integrations."""
    LIST = "list"
    ENTITY = "entity"
    """All about a person or a thing."""
    PAGE = "page"
    """The web page, before anything is asked."""
    RESOURCE = "resource"
    """An MCP resource."""
    PROMPT = "prompt"
    """A section of a prompt that is filled without being asked: context, brief, hooks."""
    WORKING_MEMORY = "working memory"
    LOCAL_MODEL = "local model"
    REMOTE_MODEL = "remote model"
    """A chat model behind an HTTP interface, whoever runs it."""
    LOCAL_EMBEDDER = "local embedder"
    REMOTE_EMBEDDER = "remote embedder"
    EXPORT = "export"
    NOTEBOOK = "notebook"
    LOG = "log"
    SPAN = "span"
    METRIC = "metric"


class Form(StrEnum):
    """How much of the words is shown."""

    WHOLE = "whole"
    MASKED = "masked"
    ABSENT = "absent"


_ANSWERS = frozenset(
    {
        *(Audience.PERSON, Audience.AGENT, Audience.LIST, Audience.ENTITY, Audience.PAGE),
        *(Audience.RESOURCE, Audience.PROMPT, Audience.WORKING_MEMORY),
    }
)
_REMOTE = frozenset({Audience.REMOTE_MODEL, Audience.REMOTE_EMBEDDER})
_LOCAL = frozenset({Audience.LOCAL_MODEL, Audience.LOCAL_EMBEDDER})
_FILES = frozenset({Audience.EXPORT, Audience.NOTEBOOK})
_TELEMETRY = frozenset({Audience.LOG, Audience.SPAN, Audience.METRIC})
_ON_REQUEST = frozenset({Audience.PERSON, Audience.AGENT})
"""Who may be shown a secret that was asked for by name."""
AUTOMATIC = frozenset({Audience.PROMPT, Audience.WORKING_MEMORY, *_REMOTE})
"""Where words come before a model although nobody asked for them: nothing enters that gives orders."""


def _row(answers: Form, remote: Form, files: Form) -> Mapping[Audience, Form]:
    groups = ((_ANSWERS, answers), (_REMOTE, remote), (_LOCAL, Form.WHOLE), (_FILES, files))
    whole = {audience: form for group, form in groups for audience in group}
    return MappingProxyType(whole | dict.fromkeys(_TELEMETRY, Form.ABSENT))


FORMS: Final[Mapping[SecurityTier, Mapping[Audience, Form]]] = MappingProxyType(
    {
        SecurityTier.CLEARTEXT: _row(answers=Form.WHOLE, remote=Form.WHOLE, files=Form.WHOLE),
        SecurityTier.SENSITIVE: _row(answers=Form.WHOLE, remote=Form.MASKED, files=Form.ABSENT),
        SecurityTier.CONFIDENTIAL: _row(answers=Form.MASKED, remote=Form.MASKED, files=Form.ABSENT),
    }
)
"""What every audience sees of every tier; nothing anywhere shows more."""


class Viewer(Struct, frozen=True, kw_only=True):
    """Who looks: a person or an agent, and whether secrets are shown that are asked for by name."""

    audience: Audience = Audience.PERSON
    may_see_secrets: bool = True

    @classmethod
    def of(cls, actor: Actor, *, secrets_for_agents: str) -> Viewer:
        """Return the one that an engine was opened for; the setting says whether an agent sees secrets."""
        if actor.kind is ActorKind.PERSON:
            return cls()
        return cls(audience=Audience.AGENT, may_see_secrets=secrets_for_agents == "asked")

    @property
    def can_ask_for_secrets(self) -> bool:
        """Whether it gets a secret that it asks for by name."""
        return self.may_see_secrets and self.audience in _ON_REQUEST


def form_of(
    tier: SecurityTier, audience: Audience, *, flags: Sequence[str] = (), asked: bool = False
) -> Form:
    """Return the form in which words of a tier may reach an audience; `asked`: by name, by one who may."""
    if INJECTION in flags and audience in AUTOMATIC:
        return Form.ABSENT
    if asked and audience in _ON_REQUEST:
        return Form.WHOLE
    return FORMS[tier][audience]


def form_of_memory(memory: Memory, audience: Audience) -> Form:
    """Return the form in which a memory may reach an audience that has not asked for it by name."""
    return form_of(memory.security, audience, flags=memory.flags)


def disclose_memory(memory: Memory, audience: Audience) -> Memory | None:
    """Return a memory as an audience may see it; None where it may not at all."""
    form = form_of_memory(memory, audience)
    if form is Form.WHOLE or memory.security is SecurityTier.SENSITIVE:
        if form is Form.ABSENT:
            return None
        is_local = FORMS[SecurityTier.CONFIDENTIAL][audience] is Form.WHOLE
        return memory.unmarked if is_local else mask_names(memory).unmarked  # what leaves is masked as text
    return mask_names(mask_memory(memory)) if form is Form.MASKED else None


def disclose_text(
    text: str,
    audience: Audience,
    *,
    tier: SecurityTier | None = None,
    answering: str | None = None,
) -> str | None:
    """
    Return a text as an audience may see it; None where it may not at all.

    Without a tier the text itself is looked at; `answering` is what was said before that it may answer.
    """
    form = form_of(tier_of_text(text, answering) if tier is None else tier, audience)
    if form is not Form.MASKED:
        return text if form is Form.WHOLE else None
    mask = mask_personal if audience in _REMOTE else mask_secrets
    return mask(text, answering=answering)


def disclose_turns(turns: Sequence[Turn], audience: Audience, *, before: Sequence[Turn] = ()) -> list[Turn]:
    """Return turns, oldest first, as an audience may see them; `before` is what was said just before."""
    if FORMS[SecurityTier.CONFIDENTIAL][audience] is Form.WHOLE:
        return [one.unmarked for one in turns]
    return mask_turns([*before, *turns])[len(before) :]


def disclose(value: Value, audience: Audience, *, about: Sequence[Memory] = ()) -> Value:
    """
    Return an answer as an audience may see it: every memory, turn and text in it, however deep.

    What is ordinary passes as it is, by its stored tier: only a confidential memory and words without a tier
    are looked at. A memory that may not be shown at all is left out where it is one of several. `about` are
    the memories that the answer names by id alone.
    """
    if isinstance(value, Memory):
        return cast("Value", disclose_memory(value, audience))
    found = _confidential_in([value, *about])
    secrets = Secrets.of_all(found) if found else None
    shown = _walk(value, audience, secrets)
    if shown is _GONE:
        return cast("Value", None)
    own = _OWN_WORDS.get(type(value).__name__)
    return cast("Value", shown if own is None else _with_own_words(shown, value, own, audience, secrets))


_OWN_WORDS: Final = {"Timeline": "topic", "Reasoned": "question"}
"""Where an answer repeats what was asked: a guess that comes back masked would be a right one."""


def _with_own_words(shown: Any, value: Any, own: str, audience: Audience, secrets: Secrets | None) -> Any:
    """Return an answer with what was asked as it was asked, also in the questions that were made of it."""
    asked = getattr(value, own)
    changes: dict[str, Any] = {own: asked}
    if secrets is not None and hasattr(value, "tree"):
        changes["tree"] = _walk(value.tree, audience, secrets.not_in(asked))
    return replace(shown, **changes)


_GONE: Final = object()
"""Stands for what may not be shown, on the way to being left out."""


# How an answer is walked through: which fields of which struct may hold words.

_NO_WORDS = frozenset(
    {
        *("id", "memory_id", "turn_id", "gap_id", "question_id", "parent", "through", "by", "act", "cited"),
        *("index", "model", "purpose", "counter", "strategy", "intent", "judged_by"),
        *("supersedes", "superseded_by", "box", "token", "key", "undone_by", "memories_by_id", "path"),
        *("private", "version", "extractor", "cursor", "made", "memory_ids", "step", "action", "dream"),
    }
)
"""Fields that hold an id or a name of ours; every other text of an answer is looked at."""
_UNTOUCHED = frozenset({"Query", "Scope", "Actor", "Quality", "Trust", "Window", "Brief", "ExportedMemory"})
"""What is the caller's own, holds no words, or was disclosed where it was made."""
_PLANS: dict[type, tuple[str, ...]] = {}


def _plan(kind: type[Struct]) -> tuple[str, ...]:
    """Return the fields of a struct that may hold words."""
    found = _PLANS.get(kind)
    if found is None:
        names = () if kind.__name__ in _UNTOUCHED else kind.__struct_fields__
        found = _PLANS[kind] = tuple(name for name in names if name not in _NO_WORDS)
    return found


def _confidential_in(value: object) -> list[Memory]:
    """Return the confidential memories of an answer, however deep."""
    if isinstance(value, Memory):
        return [value] if value.security is SecurityTier.CONFIDENTIAL else []
    if isinstance(value, Struct):
        return [one for name in _plan(type(value)) for one in _confidential_in(getattr(value, name))]
    if isinstance(value, Mapping):
        return [one for part in value.values() for one in _confidential_in(part)]
    if isinstance(value, list | tuple):
        return [one for part in value for one in _confidential_in(part)]
    return []


def _walk(value: Any, audience: Audience, secrets: Secrets | None) -> Any:
    if isinstance(value, str):
        return value if isinstance(value, StrEnum) else _text(value, audience, secrets)
    if isinstance(value, Memory):
        return disclose_memory(value, audience) or _GONE
    if isinstance(value, Struct):
        shown = disclose_turns([value], audience)[0] if isinstance(value, Turn) else value
        return _walk_struct(shown, audience, secrets)
    if isinstance(value, Mapping):
        return _walk_mapping(value, audience, secrets)
    if isinstance(value, list | tuple):
        return _walk_sequence(value, audience, secrets)
    return value


def _walk_struct(value: Struct, audience: Audience, secrets: Secrets | None) -> Any:
    if isinstance(value, Document):
        return replace(value, value=_walk_document(value.value, audience))
    if isinstance(value, SaidTurn) and INJECTION in value.flags and audience is not Audience.PERSON:
        return _GONE  # no memory, judged by nobody: a last resort is no way in for orders
    changes: dict[str, Any] = {}
    for name in _plan(type(value)):
        held = getattr(value, name)
        if held is None or isinstance(held, int | float | StrEnum):
            continue
        shown = _walk(held, audience, secrets)
        if shown is _GONE:
            return _GONE
        if name == "session" and isinstance(held, str):
            shown = mask_session(held)
        if name == "reason" and isinstance(shown, str) and secrets is not None:
            shown = _reason(value, shown)
        if shown is not held:
            changes[name] = shown
    return replace(value, **changes) if changes else value


def _reason(value: Struct, reason: str) -> str:
    """Return why something was done; what an older version stored about a secret is masked word by word."""
    by = value.actor.kind if isinstance(value, HistoryEvent) else ActorKind.PERSON
    is_about_secret = isinstance(value, HistoryEvent) or bool(_confidential_in(value))
    return mask_numbers(reason) if is_about_secret and by is not ActorKind.RULE else reason


def _walk_mapping(value: Mapping[Any, Any], audience: Audience, secrets: Secrets | None) -> Any:
    shown = {name: _walk(held, audience, secrets) for name, held in value.items()}
    if all(shown[name] is held for name, held in value.items()):
        return value
    return {name: held for name, held in shown.items() if held is not _GONE}


def _walk_sequence(value: list[Any] | tuple[Any, ...], audience: Audience, secrets: Secrets | None) -> Any:
    if value and all(isinstance(one, Turn) for one in value):
        shown: list[Any] = disclose_turns(value, audience)
        shown = shown if secrets is None else [_walk(one, audience, secrets) for one in shown]
    else:
        shown = [_walk(one, audience, secrets) for one in value]
    if all(new is old for new, old in zip(shown, value, strict=True)):
        return value
    return type(value)(one for one in shown if one is not _GONE)


_NAME_PARTS = re.compile(r"(?<=[a-z])(?=[A-Z])|[_\W]+")
"""Where the words of a field's name meet: `alarmCode`, `alarm_code`."""


def _walk_document(value: Any, audience: Audience, name: str = "") -> Any:
    """Return what a program stored as an audience may see it; a field's name tells what its value is."""
    if isinstance(value, Mapping):
        return {field: _walk_document(held, audience, str(field)) for field, held in value.items()}
    if isinstance(value, list | tuple):
        return [_walk_document(one, audience, name) for one in value]
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return value
    text = str(value)
    shown = _text(text, audience, None)
    if name and shown == text:
        named = f"{_NAME_PARTS.sub(' ', name).lower()}: {text}"
        shown = text if text in _text(named, audience, None) else CONCEALED
    return value if shown == text else shown


def _text(text: str, audience: Audience, secrets: Secrets | None) -> str:
    if not text:
        return text
    shown = disclose_text(text, audience) or ""
    return shown if secrets is None else secrets.masked(shown)
