"""
Say whether a document passes a filter, as the frameworks that the adapters are for write filters.

Used by the LangGraph and the mem0-shaped adapter. Pure. A comparison that makes no sense, such as a text
with a number, is not passed and raises nothing: one odd document must not break a search.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

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
    """Say whether an object has every field of the condition, by LangGraph's rules."""
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
