"""
What integrations share: what stands for a memory today, filters, and the text of documents.

A comparison that makes no sense, such as a text with a number, does not match and raises nothing: one odd
document must not break a search.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from engramdb.values import Status

if TYPE_CHECKING:
    from engramdb import Engram, Memory, Scope


GONE = frozenset({Status.FORGOTTEN, Status.PRUNED, Status.ERASED})
"""What nobody is shown any more."""
_MAX_CHAIN = 1000


def latest(engram: Engram, memory_id: str, scope: Scope | None) -> Memory | None:
    """Return what stands today for a memory, or None where it is gone."""
    last = chain(engram, memory_id, scope)[-1]
    return None if last.status in GONE else last


def chain(engram: Engram, memory_id: str, scope: Scope | None) -> list[Memory]:
    """Return a memory and, one after the other, what superseded it."""
    found = [engram.get(memory_id, scope=scope)]
    while (follows := found[-1].superseded_by) is not None and len(found) < _MAX_CHAIN:
        found.append(engram.get(follows, scope=scope))
    return found


Test = Callable[[Any, Any], bool]


def _ordered(compare: Callable[[Any, Any], bool]) -> Test:
    """Return a comparison of numbers, of what reads as numbers, and of texts, such as dates."""

    def test(value: Any, wanted: Any) -> bool:
        numbers = _number(value), _number(wanted)
        if None not in numbers:
            return compare(*numbers)
        if isinstance(value, str) and isinstance(wanted, str):
            return compare(value, wanted)
        return False

    return test


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _among(value: Any, wanted: Any) -> bool:
    return isinstance(wanted, list | tuple | set | frozenset) and value in wanted


def _holds(value: Any, wanted: Any) -> bool:
    if isinstance(value, str):
        return isinstance(wanted, str) and wanted in value
    return isinstance(value, list | tuple) and wanted in value


def _holds_folded(value: Any, wanted: Any) -> bool:
    return _holds(value.casefold(), wanted.casefold()) if isinstance(value, str) else _holds(value, wanted)


TESTS: Mapping[str, Test] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "gt": _ordered(operator.gt),
    "gte": _ordered(operator.ge),
    "lt": _ordered(operator.lt),
    "lte": _ordered(operator.le),
}
"""The operators that both frameworks know."""

MORE_TESTS: Mapping[str, Test] = {
    **TESTS,
    "in": _among,
    "nin": lambda value, wanted: not _among(value, wanted),
    "contains": _holds,
    "icontains": _holds_folded,
}
"""Those of mem0."""


def matches(value: Mapping[str, Any], condition: Mapping[str, Any]) -> bool:
    """Return whether an object has every field of the condition, by LangGraph's rules."""
    return all(_equal(value.get(name), wanted) for name, wanted in condition.items())


def _equal(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        if any(str(name).startswith("$") for name in wanted):
            return all(_tested(value, str(name), one) for name, one in wanted.items())
        return isinstance(value, Mapping) and matches(value, wanted)
    if isinstance(wanted, list | tuple):
        if not isinstance(value, list | tuple) or len(value) != len(wanted):
            return False
        return all(_equal(one, other) for one, other in zip(value, wanted, strict=True))
    return bool(value == wanted)


def _tested(value: Any, name: str, wanted: Any) -> bool:
    test = TESTS.get(name.removeprefix("$"))
    if test is None or not name.startswith("$"):
        raise ValueError(f"unsupported operator {name!r}: use one of {', '.join(f'${one}' for one in TESTS)}")
    return test(value, wanted)


OWN_TEXTS = ("content", "text", "memory", "data", "fact", "summary")
"""Fields that hold what a document says, the usual ones first."""
MAX_DEPTH = 20
"""How many levels of a document are looked into."""


def words_of(value: Any, *, depth: int = 0) -> str | None:
    """Return what a value says, or None where it says nothing."""
    if isinstance(value, Mapping) and depth < MAX_DEPTH:
        for name in OWN_TEXTS:
            if value.get(name):
                return words_of(value[name], depth=depth + 1)
    words = "; ".join(_fields(value, depth)) if isinstance(value, Mapping) else _flat(value, depth)
    return words.strip() or None


def _fields(value: Mapping[str, Any], depth: int) -> Iterator[str]:
    """Yield "name: value" for every field that holds something."""
    for name, one in value.items():
        words = _flat(one, depth + 1)
        if words:
            yield f"{str(name).replace('_', ' ')}: {words}"


def _flat(value: Any, depth: int) -> str:
    if depth > MAX_DEPTH:
        return ""
    if isinstance(value, Mapping):
        return ", ".join(_fields(value, depth))
    if isinstance(value, list | tuple):
        return ", ".join(words for words in (_flat(one, depth + 1) for one in value) if words)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)
