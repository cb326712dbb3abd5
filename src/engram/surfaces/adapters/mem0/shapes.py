"""
What mem0 takes and returns: messages in, dictionaries out, filters, and a memory's history as a list.

Used by `memory`. Pure. Whoever says nothing, such as an assistant that only calls a tool, is passed over;
what is no message at all raises, before anything is stored.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from engram.errors import InvalidContent, InvalidQuery
from engram.surfaces.adapters.lineage import GONE
from engram.surfaces.adapters.matching import MORE_TESTS
from engram.surfaces.adapters.transcript import ROLES
from engram.values.turn import Role

if TYPE_CHECKING:
    from datetime import datetime

    from engram import Memory
    from engram.values import ShelfItem

TEXT = "memory"
"""What mem0 calls the words of a memory."""
_ROLES = frozenset(Role)


def spoken(messages: object) -> list[tuple[str, str]]:
    """Return who said what: a text is the user's, messages say it themselves."""
    listed = [messages] if isinstance(messages, Mapping | str) else messages
    if not isinstance(listed, Sequence):
        raise InvalidContent(f"messages are a text, a message or a list, not {type(messages).__name__}")
    said = [_spoken(one) for one in listed]
    return [(role, content) for role, content in said if role in _ROLES and content.strip()]


def _spoken(message: object) -> tuple[str, str]:
    if isinstance(message, str):
        return "user", message
    role = message.get("role") if isinstance(message, Mapping) else None
    if not isinstance(message, Mapping) or not isinstance(role, str):
        raise InvalidContent("a message is a text or an object with `role` and `content`")
    content = message.get("content")
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, Mapping)]
        content = "\n".join(text for text in texts if isinstance(text, str))
    if content is not None and not isinstance(content, str):
        raise InvalidContent("the content of a message is text")
    return ROLES.get(role, role), content or ""


def record(item: ShelfItem, statement: Memory | None) -> dict[str, Any]:
    """Return a memory as mem0 does; without the statement, only what filters may ask for."""
    scope = item.scope
    whose = {"user_id": scope.user, "agent_id": scope.agent, "run_id": scope.channel}
    words = "" if statement is None else statement.content
    return {
        "id": item.key,
        TEXT: words,
        "hash": hashlib.md5(words.encode(), usedforsecurity=False).hexdigest(),
        "metadata": item.value.get("metadata") or None,
        "created_at": _written(item.created_at),
        "updated_at": _written(item.updated_at),
        **{name: one for name, one in whose.items() if one is not None},
    }


def passes(told: Mapping[str, Any], filters: Mapping[str, Any] | None) -> bool:
    """Say whether a memory passes mem0's filters, on its ids, its times and its metadata."""
    return all(_passes(told, name, wanted) for name, wanted in (filters or {}).items())


def _passes(told: Mapping[str, Any], name: str, wanted: Any) -> bool:
    if name in ("AND", "OR", "NOT"):
        parts = [passes(told, one) for one in (wanted if isinstance(wanted, list) else [wanted])]
        return {"AND": all(parts), "OR": any(parts), "NOT": not any(parts)}[name]
    value = told.get(name, (told.get("metadata") or {}).get(name))
    if wanted == "*":
        return value is not None
    if isinstance(wanted, list):
        return value in wanted
    if not isinstance(wanted, Mapping):
        return bool(value == wanted)
    unknown = wanted.keys() - MORE_TESTS.keys()
    if unknown:
        raise InvalidQuery(
            f"no filter is called {sorted(unknown)[0][:40]!r}", hint=f"Use one of {', '.join(MORE_TESTS)}."
        )
    return all(MORE_TESTS[test](value, one) for test, one in wanted.items())


def events(memory_id: str, versions: Sequence[Memory]) -> list[dict[str, Any]]:
    """Return what happened to a memory, as mem0 tells it."""
    told = [_event(memory_id, None, versions[0].content, "ADD", versions[0].created_at)]
    for old, new in itertools.pairwise(versions):
        told.append(_event(memory_id, old.content, new.content, "UPDATE", old.valid_to or new.created_at))
    last = versions[-1]
    if last.status in GONE:
        told.append(_event(memory_id, last.content, None, "DELETE", last.updated_at))
    return told


def _event(memory_id: str, old: str | None, new: str | None, event: str, at: datetime) -> dict[str, Any]:
    return {
        "id": f"{memory_id}/{event.lower()}/{_written(at)}",
        "memory_id": memory_id,
        "old_memory": old,
        "new_memory": new,
        "event": event,
        "created_at": _written(at),
        "is_deleted": int(event == "DELETE"),
    }


def _written(moment: datetime) -> str:
    return moment.isoformat()
