"""
The regular expressions of the code base, and text made from each of them that almost matches.

A backtracking matcher is slow on a long run of what one of its loops takes, with nothing behind it that lets
the match end. So every loop of an expression is pumped: what leads to it once, and then its body without end.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import re._constants as sre  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
from collections.abc import Iterator
from typing import Any

import engramdb

MAX_DEPTH = 5
MAX_LOOPS = 12
"""How many loops of one expression are pumped: a word list has no more that differ."""
_CATEGORY = {
    sre.CATEGORY_DIGIT: "1",
    sre.CATEGORY_NOT_DIGIT: "a",
    sre.CATEGORY_SPACE: " ",
    sre.CATEGORY_NOT_SPACE: "a",
    sre.CATEGORY_WORD: "a",
    sre.CATEGORY_NOT_WORD: "-",
}
_ORDINARY = "a1 A-.,_é中\n"


def module_names(*packages: str) -> Iterator[str]:
    """Yield the modules of some packages, of all where none is named."""
    for found in pkgutil.walk_packages(engramdb.__path__, "engramdb."):
        package = found.name.split(".")[1]
        if not packages or package in packages:
            yield found.name


def patterns_of(module_name: str) -> dict[str, int]:
    """Return the expressions that a module holds, with their flags."""
    found: dict[str, int] = {}
    for name, value in list(vars(importlib.import_module(module_name)).items()):
        if not name.startswith("__"):
            _collect(value, found, depth=0)
    return found


def _collect(value: Any, found: dict[str, int], *, depth: int) -> None:
    if isinstance(value, re.Pattern):
        if isinstance(value.pattern, str):
            found.setdefault(value.pattern, value.flags)
    elif type(value).__name__ == "_Lazy":
        found.setdefault(value.pattern, value._flags)
    elif depth < MAX_DEPTH:
        for one in _parts(value):
            _collect(one, found, depth=depth + 1)


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    if hasattr(value, "__struct_fields__") and not isinstance(value, type):
        return [getattr(value, name, None) for name in value.__struct_fields__]
    return []


def pumps(pattern: str, flags: int = 0) -> list[tuple[str, str]]:
    """Return pairs of a lead and what is to be repeated behind it, one for each loop of the expression."""
    tree = parser.parse(pattern, flags & ~re.DEBUG)
    groups: dict[int, str] = {}
    whole = _sample(tree, groups)
    found = [("", whole), ("", whole[:-1]), ("", f"{whole} ")]
    for lead, body in list(_loops(tree, "", groups))[:MAX_LOOPS]:
        found += [(lead, body), ("", lead + body)]
    return [(lead, body) for lead, body in dict.fromkeys(found) if body]


def _sample(tree: Any, groups: dict[int, str]) -> str:
    return "".join(_one(operation, argument, groups) for operation, argument in tree)


def _one(operation: Any, argument: Any, groups: dict[int, str]) -> str:  # noqa: PLR0911 - one for each kind of node
    """Return the plainest text that one node takes."""
    if operation is sre.LITERAL:
        return chr(argument)
    if operation is sre.NOT_LITERAL:
        return "b" if argument == ord("a") else "a"
    if operation is sre.ANY:
        return "a"
    if operation is sre.IN:
        return _of_class(argument)
    if operation is sre.BRANCH:
        return _sample(argument[1][0], groups)
    if operation is sre.SUBPATTERN:
        groups[argument[0] or 0] = _sample(argument[3], groups)
        return groups[argument[0] or 0]
    if operation in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
        times: int = max(argument[0], 1 if argument[1] > 0 else 0)
        return _sample(argument[2], groups) * times
    if operation is sre.ATOMIC_GROUP:
        return _sample(argument, groups)
    if operation is sre.GROUPREF:
        return groups.get(argument, "")
    return ""  # an anchor or a look around takes nothing


def _of_class(members: Any) -> str:
    if members[0][0] is sre.NEGATE:
        inside = re.compile("[" + "".join(_written(one) for one in members[1:]) + "]")
        return next((character for character in _ORDINARY if not inside.match(character)), "~")
    operation, argument = members[0]
    if operation is sre.LITERAL:
        return chr(argument)
    if operation is sre.RANGE:
        return chr(argument[0])
    return _CATEGORY.get(argument, "a")


def _written(member: Any) -> str:
    operation, argument = member
    if operation is sre.LITERAL:
        return re.escape(chr(argument))
    if operation is sre.RANGE:
        return f"{re.escape(chr(argument[0]))}-{re.escape(chr(argument[1]))}"
    named = {
        sre.CATEGORY_DIGIT: r"\d",
        sre.CATEGORY_NOT_DIGIT: r"\D",
        sre.CATEGORY_SPACE: r"\s",
        sre.CATEGORY_NOT_SPACE: r"\S",
        sre.CATEGORY_WORD: r"\w",
        sre.CATEGORY_NOT_WORD: r"\W",
    }
    return named[argument]


def _loops(tree: Any, lead: str, groups: dict[int, str]) -> Iterator[tuple[str, str]]:
    """Yield each loop below a node: what leads to it, and its body."""
    for operation, argument in tree:
        if operation in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            if argument[1] > 3:
                yield lead, _sample(argument[2], groups)
            yield from _loops(argument[2], lead, groups)
        elif operation is sre.BRANCH:
            for branch in argument[1]:
                yield from _loops(branch, lead, groups)
        elif operation is sre.SUBPATTERN:
            yield from _loops(argument[3], lead, groups)
        elif operation is sre.ATOMIC_GROUP:
            yield from _loops(argument, lead, groups)
        elif operation in (sre.ASSERT, sre.ASSERT_NOT):
            yield from _loops(argument[1], lead, groups)
        lead += _one(operation, argument, groups)
