"""
Our hooks in the settings of a program.

Used by `clients`. The settings of Claude Code and of Gemini CLI hold, for each event, a list of groups of
hooks; ours is a group of its own at the end of each list. Hooks of others, also in the same list, are neither
moved nor changed. Every change is checked by reading the result.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engram.surfaces.connect import json_edit
from engram.surfaces.connect.entry import is_our_hook
from engram.surfaces.connect.part import CannotEdit
from engram.surfaces.connect.servers import read_json
from engram.surfaces.hooks.program import CLAUDE_CODE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from engram.surfaces.connect.entry import Own
    from engram.surfaces.hooks.program import Program

KEY = "hooks"


@dataclass(frozen=True, slots=True)
class Hooks:
    """The calls of `engram hook`: a group for each event that we answer."""

    groups: Mapping[str, dict[str, Any]]

    @classmethod
    def of(cls, own: Own, program: Program = CLAUDE_CODE) -> Hooks:
        """Return the hooks that our entries are to be."""
        return cls({event: own.hook(event, program) for event in program.events})

    def is_in(self, text: str) -> bool:
        """Say whether a hook of ours stands there."""
        return next(_ours(read_json(text)), None) is not None

    def like_in(self, text: str) -> Hooks:
        """Return the hooks as a text has them."""
        whole = read_json(text)
        return Hooks({event: whole[KEY][event][group] for event, group, _ in _ours(whole)})

    def put(self, text: str) -> str:
        """Return the text with one hook of ours for each event."""
        text = text if text.strip(" \t\r\n\ufeff") else text + "{\n}\n"
        before = read_json(text)
        self._check_shape(before)
        if KEY not in before:
            return json_edit.set_member(text, (KEY,), self._wanted())
        changed = text
        for event, group in self._wanted().items():
            changed = self._put_one(changed, event, group)
        if _without_ours(read_json(changed)) != _without_ours(before):
            raise CannotEdit("its hooks are written in a way that we cannot change safely")
        return changed

    def take_out(self, text: str, original: str | None) -> str:
        """Return the text without our hooks, and without the groups and lists that are then empty."""
        had = None if original is None else read_json(original)
        kept = {} if had is None else had.get(KEY, {})
        changed = text
        while (found := next(_ours(read_json(changed)), None)) is not None:
            event, group, place = found
            changed = _taken(changed, event, group, place, is_kept=event in kept)
        is_left_over = changed != text and not read_json(changed)[KEY] and (had is None or KEY not in had)
        return json_edit.remove(changed, (KEY,)) if is_left_over else changed

    def snippet(self) -> str:
        """Return the hooks as they would stand in an empty file."""
        return json.dumps({KEY: self._wanted()}, indent=2, ensure_ascii=False)

    def _wanted(self) -> dict[str, Any]:
        return {event: [group] for event, group in self.groups.items()}

    def _check_shape(self, whole: dict[str, Any]) -> None:
        events = whole.get(KEY, {})
        is_listed = isinstance(events, dict) and all(
            isinstance(events.get(one, []), list) for one in self.groups
        )
        if not is_listed:
            raise CannotEdit("its hooks are not what they should be")

    def _put_one(self, text: str, event: str, groups: list[Any]) -> str:
        there = read_json(text)[KEY].get(event)
        if there is None:
            return json_edit.set_member(text, (KEY, event), groups)
        ours = [found for found in _ours(read_json(text)) if found[0] == event]
        for _, group, place in reversed(ours[1:]):
            text = _taken(text, event, group, place, is_kept=True)
        wanted = groups[0]
        if not ours:
            return json_edit.append_item(text, (KEY, event), wanted)
        _, group, place = ours[0]
        is_alone = len(there[group][KEY]) == 1
        if is_alone and {**there[group], **wanted} != there[group]:
            return json_edit.set_value(text, (KEY, event, group), wanted)
        if not is_alone and there[group][KEY][place] != wanted[KEY][0]:
            return json_edit.set_value(text, (KEY, event, group, KEY, place), wanted[KEY][0])
        return text


def _taken(text: str, event: str, group: int, place: int, *, is_kept: bool) -> str:
    """Return the text without one hook; a list that would be empty goes too, unless it is to be kept."""
    groups = read_json(text)[KEY][event]
    if len(groups[group][KEY]) > 1:
        return json_edit.remove(text, (KEY, event, group, KEY, place))
    if len(groups) > 1 or is_kept:
        return json_edit.remove(text, (KEY, event, group))
    return json_edit.remove(text, (KEY, event))


def _ours(whole: dict[str, Any]) -> Iterator[tuple[str, int, int]]:
    """Yield where hooks of ours stand: event, group and place."""
    events = whole.get(KEY)
    for event, groups in events.items() if isinstance(events, dict) else ():
        for number, group in enumerate(groups if isinstance(groups, list) else ()):
            hooks = group.get(KEY) if isinstance(group, dict) else None
            for place, one in enumerate(hooks if isinstance(hooks, list) else ()):
                if is_our_hook(one):
                    yield event, number, place


def _without_ours(whole: dict[str, Any]) -> dict[str, Any]:
    """Return a copy with everything but our hooks, and without what is empty then."""
    events = {}
    for event, groups in whole.get(KEY, {}).items():
        kept = [
            {**group, KEY: [one for one in group[KEY] if not is_our_hook(one)]} if _is_group(group) else group
            for group in (groups if isinstance(groups, list) else [groups])
        ]
        events[event] = [group for group in kept if not _is_group(group) or group[KEY]]
    return {**whole, KEY: {event: groups for event, groups in events.items() if groups}}


def _is_group(group: object) -> bool:
    return isinstance(group, dict) and isinstance(group.get(KEY), list)
