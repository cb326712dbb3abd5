"""
Every public function that meets text from outside, found by its signature.

A function is called with what the types of its parameters say. What needs more than that has an entry in
`CALLS`, and what is not for foreign text is named in `OURS`. Anything else fails the test: a new parser comes
with a case.
"""

from __future__ import annotations

import importlib
import inspect
import io
import json
import re
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from datetime import UTC, datetime
from typing import Any

import numpy as np

from engramdb.context import overview
from engramdb.importing import json_stream, manifests
from engramdb.importing.source import SourceFile
from engramdb.models import guard_model, hostility
from engramdb.policy import RecallPolicy
from engramdb.recall import plan
from engramdb.text import commands, excerpts, front_matter, grammar, name_runs, names_small, pii, segments
from engramdb.text.moment_rules import direction_at
from engramdb.values import ActorKind, Memory, MemoryId, Role, Turn, TurnId
from engramdb.values.memory import SecurityTier
from engramdb.values.privacy import PersonalData, PiiKind, PiiSpan
from engramdb.vault import asking, finding, masking
from growth.patterns import module_names

Parser = Callable[[str], object]

LINES = ("secret", "secret_cleared", "personal", "personal_cleared")
NOW = datetime(2026, 3, 14, 9, 26, tzinfo=UTC)
PACKAGES = ("text", "importing")
MODULES = (
    *("capture.actions", "capture.junk", "capture.keeping", "capture.patterns", "capture.signals"),
    *(
        "capture.utterances",
        "recall.anchors",
        "recall.evidence",
        "recall.intent",
        "recall.period",
        "recall.plan",
    ),
    *("recall.relations", "context.fitting", "context.history", "context.lines", "context.overview"),
    *("hooks.events", "hooks.filters", "hooks.transcript", "notebook.note", "notebook.state"),
    *("notebook.file_names", "connect.json_edit", "http.etags", "http.guard", "mcp.frames"),
    *("lifecycle.pair_rules", "models.guard_model", "models.hostility", "models.prompts.replies"),
    *("documents.write", "vault.asking", "vault.finding", "vault.masking", "vault.questions"),
)
"""Beside whole packages: the other modules that read what somebody else wrote."""


def sourced(text: str, name: str = "notes.md") -> SourceFile:
    """Return a file that holds the text."""
    content = text.encode("utf-8", "replace")
    return SourceFile(name, len(content), lambda: nullcontext(io.BytesIO(content)))


def guard_read(text: str) -> guard_model.GuardReading:
    """Return a reading that takes every other word for a secret."""
    words = tuple(guard_model.words_of(text))
    chances = np.zeros((len(words), len(guard_model.LABELS)), np.float32)
    chances[::2, 1] = 1.0
    return guard_model.GuardReading(0.0, words, chances, is_complete=True)


def places_in(text: str) -> list[tuple[int, int]]:
    """Return where the words of a text stand."""
    return [match.span() for match in re.finditer(r"\S+", text)]


def secrets_in(text: str) -> pii.PiiScan:
    """Return a finding in which every word is a secret."""
    return pii.PiiScan.of(PiiSpan(start, end, PiiKind.CREDENTIAL) for start, end in places_in(text))


def remembered(text: str) -> Memory:
    """Return a memory of the text."""
    return Memory(id=MemoryId("0" * 32), content=text, created_at=NOW, updated_at=NOW)


def spoken(text: str) -> Turn:
    """Return a turn of the text."""
    return Turn(id=TurnId("0" * 32), content=text, role=Role.USER, occurred_at=NOW, created_at=NOW)


BY_TYPE: dict[str, Callable[[str], Any]] = {
    "str": lambda text: text,
    "str | None": lambda text: text,
    "bytes": lambda text: text.encode("utf-8", "replace"),
    "object": lambda text: text,
    "Any": lambda text: text,
    "datetime": lambda _text: NOW,
    "datetime | None": lambda _text: NOW,
    "list[str]": lambda text: text.splitlines() or [""],
    "Sequence[str]": lambda text: text.splitlines() or [""],
    "Iterable[str]": lambda text: text.split(),
    "SourceFile": sourced,
    "Mapping[str, str]": lambda _text: {},
    "Mapping[str, Any]": lambda text: {"content": text},
    "Sequence[dict[str, Any]]": lambda text: [{"type": "user", "message": {"content": text}, "text": text}],
    "Memory": remembered,
    "Turn": spoken,
    "Sequence[Turn]": lambda text: [spoken(text)],
    "int": lambda _text: 100,
    "bool": lambda _text: True,
    "IO[bytes]": lambda text: io.BytesIO(text.encode("utf-8", "replace")),
}
"""What a parameter of a type is given."""
FOREIGN = ("str", "bytes", "SourceFile", "Memory", "object", "Any", "Turn", "Path")
"""Types that can hold somebody else's words."""


def _in_json(text: str) -> SourceFile:
    return sourced(json.dumps([{"content": text, "role": "user"}] * 2), "said.json")


def _manifest(name: str) -> Parser:
    reader = manifests.reader_of(name)
    assert reader is not None
    return lambda text: list(reader(text))


MANIFEST_NAMES = (
    *("pyproject.toml", "package.json", "requirements.txt", "go.mod", "Cargo.toml", "Dockerfile"),
    *("pom.xml", "Makefile"),
)
MANIFESTS: list[Parser] = [_manifest(name) for name in MANIFEST_NAMES]

CALLS: dict[str, Parser] = {
    "text.grammar.to_third_person": lambda text: grammar.to_third_person(text, name="Ann"),
    "text.grammar.name_pronoun": lambda text: grammar.name_pronoun(text, list(grammar.people(text))),
    "text.commands.telling_output": lambda text: commands.telling_output(text, is_failed=True),
    "text.excerpts.best_excerpt": lambda text: excerpts.best_excerpt(text, {"move": 0.5, "lisbon": 0.5}),
    "text.front_matter.read": lambda text: front_matter.read(text.splitlines(), {"a", "title"}),
    "text.front_matter.values_of": lambda text: front_matter.values_of({"a": text.splitlines()}),
    "text.front_matter.write": lambda text: front_matter.write({"a": text}, []),
    "text.moment_rules.direction_at": lambda text: direction_at(text, 100, 110, whole="past"),
    "text.name_runs.runs": lambda text: name_runs.runs(text, name_runs.words_of(text)),
    "text.names_small.small_names": lambda text: list(
        names_small.small_names(text, name_runs.words_of(text))
    ),
    "text.names_small.words_used_as_names": lambda text: list(
        names_small.words_used_as_names(text, name_runs.words_of(text))
    ),
    "models.guard_model.private_words": lambda text: guard_model.private_words(
        text,
        guard_read(text),
        {"secret": 0.5, "personal": 0.5, "secret_cleared": 0.1, "personal_cleared": 0.1},
    ),
    "models.hostility.hostility_features": lambda text: hostility.hostility_features(text, 0.5),
    "text.pii.conceal_places": lambda text: pii.conceal_places(text, places_in(text)),
    "text.pii.conceal": lambda text: pii.conceal(text, pii.classify(text)),
    "text.pii.is_withheld": lambda text: pii.is_withheld(text, SecurityTier.CONFIDENTIAL),
    "text.segments.chain": lambda text: segments.chain(text, segments.message_blocks(text)),
    "vault.asking.secrets_asked_for": lambda text: asking.secrets_asked_for(
        f"what is the PIN of {text}", [remembered(text).evolve(security=SecurityTier.CONFIDENTIAL)]
    ),
    "vault.asking.shown_with": lambda text: asking.shown_with(
        remembered(text).evolve(private=secrets_in(text).findings), frozenset({text[:4]})
    ),
    "vault.finding.merge": lambda text: finding.merge(
        text, secrets_in(text), PersonalData(secrets_in(text).spans)
    ),
    "vault.finding.relocate": lambda text: list(finding.relocate(secrets_in(text).spans, text, text)),
    "vault.finding.find_values": lambda text: list(finding.find_values(text, text.split())),
    "vault.finding.find_private": lambda text: finding.find_private(text, secrets_in(text), None),
    "vault.masking.mask_found": lambda text: masking.mask_found(text, secrets_in(text)),
    "vault.masking.mask_reason": lambda text: masking.mask_reason(
        text, [remembered(text)], by=ActorKind.AGENT
    ),
    "importing.json_stream.objects": lambda text: list(json_stream.objects(_in_json(text))),
    "importing.json_stream.objects_by_time": lambda text: list(
        json_stream.objects_by_time(_in_json(text), lambda _one: NOW)
    ),
    "importing.manifests.reader_of": lambda text: [read(text) for read in MANIFESTS],
    "recall.plan.plan": lambda text: plan.plan(text, RecallPolicy(), now=NOW),
    "context.overview.choose_spread": lambda text: overview.choose_spread(
        [remembered(text[start : start + 100]) for start in range(0, min(len(text), 40_000), 400)],
        [10] * len(range(0, min(len(text), 40_000), 400)),
        100,
        now=NOW,
    ),
}
"""How functions are called that need more than their types say."""
OURS = {
    "a value of our own, such as a match, a stretch of the calendar or a rule": (
        *("text.calendar.leading", "text.calendar.trailing", "text.dates.with_dates"),
        *(
            "text.moment_context.direction_beside",
            "text.moment_rules.rule",
            "text.moment_rules.rule_by_piece",
        ),
        *("text.name_runs.run_mention", "text.relations.subject_of", "text.traits.overlap"),
        *("text.withdrawals.withdrawn", "recall.anchors.happened_at", "recall.anchors.counted_days"),
        *("recall.period.join", "recall.plan.subjects", "context.fitting.chance_of_helping"),
        *("notebook.file_names.short_id", "notebook.state.pair"),
    ),
    "a pattern of ours, which is compiled or taken apart once": (
        *("text.lexicons.any_pattern", "text.normalize.lazy", "text.pii_patterns.cued"),
        *("text.pii_patterns.compiled", "text.word_starts.alternatives", "text.word_starts.parted"),
        *("text.word_starts.word_starts", "text.word_starts.needle", "text.word_starts.needs_other_script"),
    ),
    "the name of a data file of ours": (
        *(
            "text.lexicons.registry",
            "text.lexicons.rows",
            "text.lexicons.plain_text",
            "text.lexicons.voice_cues",
        ),
    ),
    "callbacks; its reader is measured with `objects` and by each importer": (
        *("importing.json_stream.messages_in", "importing.json_stream.conversations"),
        *("importing.session_logs.codex_message",),
    ),
    "a folder, measured by its parts": (
        *("importing.codebase.read_codebase", "importing.codebase.repository_name"),
        *("importing.read.read_source", "importing.source.source_files", "hooks.transcript.tail"),
        *("importing.contained.read_contained",),
    ),
    "records that were measured where they were read": ("importing.clamps.clamp",),
    "parsed by pypdf, in a guarded import": ("importing.text_files.read_pdf",),
    "a scope, an actor or a store beside the text, which goes through parts that are measured": (
        *("capture.actions.task_result", "capture.actions.tool_run", "http.etags.expected"),
        *("recall.evidence.judge", "recall.evidence.leads_from", "recall.evidence.gathered"),
        *("context.fitting.fitting", "context.fitting.fitting_window", "context.overview.fill_overview"),
        *(
            "lifecycle.pair_rules.may_bear_on",
            "lifecycle.pair_rules.same_specifics",
            "capture.actions.shipped",
        ),
    ),
    "texts that were cut before, or a level of detail beside one": (
        *(
            "context.history.parse_history",
            "context.history.most_telling_sentence",
            "context.lines.text_at_level",
        ),
        *("context.lines.stored_tokens", "context.lines.memory_line", "context.lines.section_text"),
        *("models.prompts.replies.evidence", "models.prompts.replies.quote"),
        *("models.prompts.replies.conversation", "notebook.note.write_note", "notebook.note.shows"),
        *("notebook.note.same_value", "notebook.note.same_label"),
    ),
    "a place in a settings file of the user, found by `parse`, which is measured": (
        *("connect.json_edit.node_at", "connect.json_edit.set_member", "connect.json_edit.set_value"),
        *("connect.json_edit.append_item", "connect.json_edit.remove"),
    ),
    "a body that was read, bounded by `Limits`": ("http.guard.replay",),
}
"""Functions that take text, or what may hold it, and meet none from outside: why, and which."""


def modules() -> list[str]:
    """Return the modules whose functions are measured."""
    return [*module_names(*PACKAGES), *(f"engramdb.{name}" for name in MODULES)]


def functions(module_name: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the public functions of a module that may be given foreign text, by their short names."""
    module = importlib.import_module(module_name)
    for name, value in list(vars(module).items()):
        plain = inspect.unwrap(value) if callable(value) else None
        if name.startswith("_") or not inspect.isfunction(plain) or plain.__module__ != module_name:
            continue
        if any(kind in str(one.annotation) for one in _needed(plain) for kind in FOREIGN):
            yield f"{module_name.removeprefix('engramdb.')}.{name}", plain


def parser_of(name: str, function: Callable[..., Any]) -> Parser | None:
    """Return how a function is called with nothing but a text; None where nobody has said."""
    if name in CALLS:
        return CALLS[name]
    needed = _needed(function)
    if not all(str(one.annotation) in BY_TYPE for one in needed):
        return None

    def parse(text: str) -> object:
        given = {one.name: BY_TYPE[str(one.annotation)](text) for one in needed}
        places = [given.pop(one.name) for one in needed if one.kind is not one.KEYWORD_ONLY]
        return function(*places, **given)

    return parse


def is_ours(name: str) -> bool:
    """Return whether a function is known not to meet foreign text."""
    return any(name in names for names in OURS.values())


def _needed(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the parameters that a call has to give."""
    return [
        one
        for one in inspect.signature(function).parameters.values()
        if one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    ]
