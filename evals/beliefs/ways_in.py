"""
Every way in that is not the person's own plain statement: agents, files, other people, doubtful words.

Each takes a text into a scope whose person has said or forgotten something before.
"""

from __future__ import annotations

import csv
import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from engramdb import Engram, Scope, Settings, Source
from engramdb.importing.source import SourceMessage
from engramdb.testing import ManualClock
from engramdb.values import Actor, ActorKind, Role

AGENT = Actor(name="agent", kind=ActorKind.AGENT)
LATER_SESSION = "later"


class SharedStore(Struct, frozen=True):
    """A store that a person and an agent have open, its clock, and a folder for files."""

    person: Engram
    agent: Engram
    clock: ManualClock
    folder: Path


@contextmanager
def shared_store(settings: Settings) -> Iterator[SharedStore]:
    """Open a new store for a person and for an agent."""
    clock = ManualClock()
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "memory.db"
        with (
            Engram.open(path, settings=settings, clock=clock, background=False) as person,
            Engram.open(path, settings=settings, clock=clock, background=False, actor=AGENT) as agent,
        ):
            yield SharedStore(person, agent, clock, Path(name))


WayIn: TypeAlias = Callable[[SharedStore, Scope, str], object]


def _observed(role: str, *, speaker: str | None = None, words: str = "{}") -> WayIn:
    def tell(store: SharedStore, scope: Scope, text: str) -> None:
        said = words.format(text)
        store.agent.observe(said, role=role, speaker=speaker, session=LATER_SESSION, scope=scope)
        store.agent.flush(session=LATER_SESSION, scope=scope)

    return tell


def _file(store: SharedStore, name: str, text: str) -> Path:
    path = store.folder / name
    path.write_text(text, encoding="utf-8")
    return path


def _imported(kind: str, suffix: str, write: Callable[[SharedStore, str], str]) -> WayIn:
    def tell(store: SharedStore, scope: Scope, text: str) -> None:
        path = _file(store, f"brought{suffix}", write(store, text))
        store.person.import_from(path, kind=kind, scope=scope)

    return tell


def _row(store: SharedStore, text: str) -> str:
    return json.dumps({"content": text, "occurred_at": store.clock.now().isoformat()})


def _message(store: SharedStore, text: str) -> str:
    return json.dumps(json.loads(_row(store, text)) | {"role": "assistant", "session": LATER_SESSION})


def _mem0(store: SharedStore, text: str) -> str:
    one = {"id": "m1", "memory": text, "created_at": store.clock.now().isoformat()}
    return json.dumps({"results": [one]})


def _engram(store: SharedStore, text: str) -> str:
    now = store.clock.now().isoformat()
    told = {"provenance": {"source": "human"}, "confidence": 1.0, "created_at": now}
    return json.dumps({"engram": 1, "id": "m1", "content": text, **told})


def _table(_store: SharedStore, text: str) -> str:
    path = Path(tempfile.mkstemp(suffix=".csv")[1])
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["content"], [text]])
    written = path.read_text(encoding="utf-8")
    path.unlink()
    return written


def _heard(store: SharedStore, scope: Scope, text: str) -> None:
    said = SourceMessage(content=text, place="log: line 1", role=Role.ASSISTANT, session=LATER_SESSION)
    store.agent.read_due(store.agent.hear([said], scope=scope))
    store.agent.flush(session=LATER_SESSION, scope=scope)


def _turn(store: SharedStore, scope: Scope, text: str) -> None:
    with store.agent.turn("anything new?", session=LATER_SESSION, scope=scope) as turn:
        turn.reply(text)
    store.agent.flush(session=LATER_SESSION, scope=scope)


def _session_end(store: SharedStore, scope: Scope, text: str) -> None:
    for words in ("ok, thanks", text, "let us go on with the other thing tomorrow"):
        store.agent.observe(words, role="assistant", session=LATER_SESSION, scope=scope)
    store.agent.end_session(LATER_SESSION, scope=scope)


WEAK_WAYS: dict[str, WayIn] = {
    "agent's remember": lambda store, scope, text: store.agent.remember(
        text, source=Source.ASSISTANT, scope=scope
    ),
    "assistant's turn": _observed("assistant"),
    "reply of a turn": _turn,
    "hook": _heard,
    "tool output": _observed("tool"),
    "compaction": lambda store, scope, text: store.agent.capture.compaction(
        f"## State\n- {text}", session=LATER_SESSION, scope=scope
    ),
    "session's end": _session_end,
    "finding": lambda store, scope, text: store.agent.capture.finding(
        text, urls=["https://example.org/a"], scope=scope
    ),
    "task result": lambda store, scope, text: store.agent.capture.task_result(
        "find out more", text, scope=scope
    ),
    "document": lambda store, scope, text: store.agent.documents.put(
        ("notes",), "n1", {"text": text}, text=text, scope=scope
    ),
    "import of rows": _imported("jsonl", ".jsonl", _row),
    "import of a table": _imported("csv", ".csv", _table),
    "import of notes": _imported("markdown", ".md", lambda _store, text: f"# Notes\n\n{text}\n"),
    "import of a conversation": _imported("jsonl", ".jsonl", _message),
    "import from mem0": _imported("mem0", ".json", _mem0),
    "import from Engram": _imported("engram", ".jsonl", _engram),
    "another speaker": _observed("user", speaker="Tom"),
}
"""Sources that are weaker than the person, or are not the person."""

DOUBTFUL_WAYS: dict[str, WayIn] = {
    "hedged": _observed("user", words="Maybe: {} I'm not sure at all."),
    "quoted": _observed("user", words='Tom wrote me: "{}"'),
    "pasted": _observed(
        "user",
        words="proofread this mail please\n\nFrom: Tom <tom@example.org>\nSubject: hello\n\n{}\n\nBest, Tom",
    ),
}
"""The person speaks, and does not say that it is so."""

IN_THE_USERS_NAME: dict[str, WayIn] = {
    "agent's remember in the user's name": lambda store, scope, text: store.agent.remember(text, scope=scope),
}
"""An agent says that the person has said so: enough to change a fact, and not what is pinned."""
