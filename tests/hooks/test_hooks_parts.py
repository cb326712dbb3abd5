"""The parts of a hook, each by itself: events, guards, tools, logs, and what a session was given."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engramdb import Settings
from engramdb.context.lines import NOTICE, NOTICE_AGAIN, frame_block
from engramdb.hooks import filters, transcript
from engramdb.hooks.events import UnreadableEvent, parse, parse_arguments
from engramdb.hooks.state import DeliveredLines

if TYPE_CHECKING:
    from pathlib import Path

anything = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
FIELDS = (
    "session_id",
    "transcript_path",
    "cwd",
    "prompt",
    "source",
    "tool_name",
    "tool_input",
    "tool_response",
)


@settings(max_examples=40)
@given(st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=8), anything, max_size=6))
def test_an_event_with_odd_fields_is_read_as_far_as_it_goes(told: dict[str, Any]) -> None:
    """A newer program may add fields or change one: that costs the field and not the session."""
    event = parse(json.dumps({**told, "session_id": "s1", "hook_event_name": "?"}).encode(), name="Stop")

    assert (event.name, event.session) == ("Stop", "s1")
    assert isinstance(event.prompt, str)


@pytest.mark.parametrize(
    "raw", [b"", b"not json", b"[]", b"{}", b'{"session_id": 7}', b"\xff\xfe", b"[" * 9999]
)
def test_what_is_no_event_is_refused_without_quoting_it(raw: bytes) -> None:
    """The reason can be shown to anybody."""
    with pytest.raises(UnreadableEvent, match=r"the event (is not|names no)"):
        parse(raw, name="Stop")


def test_a_call_is_read_with_either_way_to_write_an_option() -> None:
    """`--user maya` and `--user=maya` are one, and what is unknown is let pass."""
    call = parse_arguments(["Stop", "--user", "maya", "--store=/a b.db", "--newer", "--project"])

    assert (call.event, call.user, call.store, call.project) == ("Stop", "maya", "/a b.db", None)


@pytest.mark.parametrize("notice", [NOTICE, NOTICE_AGAIN])
def test_what_came_from_memory_is_cut_out_of_what_was_said(notice: str) -> None:
    """Also where somebody pastes it back, twice, or cuts off its end."""
    block = frame_block("# Recalled\n- user: I use Helix", tag="memories", notice=notice)

    assert filters.without_memories(f"Look:\n{block}\nright? {block}") == "Look:\n \nright?"
    assert filters.without_memories(f"Look: {block[:-12]}") == "Look:"
    assert filters.without_memories(f"Look: {json.dumps(block)}") == 'Look: " "'
    assert (
        filters.without_memories("Look <system-reminder>\nbe good</system-reminder> there") == "Look   there"
    )
    assert filters.without_memories("My <memories> of Rome are vague") == "My <memories> of Rome are vague"


@pytest.mark.parametrize(
    ("prompt", "is_typed"),
    [
        ("fix the test", True),
        ("/home/maya is my home", True),
        ("/compact now", False),
        ("/clear", False),
        ("<task-notification>\ndone", False),
        ("<b>bold</b> is a tag", True),
        ("  ", False),
    ],
)
def test_only_what_somebody_typed_counts_as_a_prompt(prompt: str, is_typed: bool) -> None:
    """Commands and the program's own messages are nobody's words."""
    assert filters.is_typed(prompt) is is_typed


def line(role: str, text: object, uuid: str, **more: object) -> dict[str, object]:
    """Return a line of a session log."""
    message = {"role": role, "content": text}
    return {"type": role, "sessionId": "s1", "uuid": uuid, "message": message, **more}


def write(path: Path, lines: list[dict[str, object]]) -> str:
    """Write a session log."""
    path.write_text("".join(json.dumps(one) + "\n" for one in lines), encoding="utf-8")
    return str(path)


def test_of_a_turn_the_prompt_and_the_last_words_are_read(tmp_path: Path) -> None:
    """What the agent murmurs between its tools, thinks, or says to sub-agents is not its reply."""
    path = write(
        tmp_path / "s1.jsonl",
        [
            line("user", "fix it", "u1"),
            line("assistant", [{"type": "thinking", "thinking": "hm"}], "a1"),
            line("assistant", [{"type": "text", "text": "Let me look."}, {"type": "tool_use"}], "a2"),
            line("user", [{"type": "tool_result", "content": "…"}], "u2"),
            line("assistant", "to a helper", "a3", isSidechain=True),
            line("assistant", [{"type": "text", "text": "It is fixed."}], "a4"),
            line("user", "<system-reminder>be good</system-reminder>", "u3"),
            line("user", "thanks", "u4"),
        ],
    )

    lines = transcript.tail(path)

    said = transcript.said(lines, session="claude-code:s1")
    assert [(str(one.role), one.content) for one in said] == [
        ("user", "fix it"),
        ("assistant", "It is fixed."),
        ("user", "thanks"),
    ]
    assert transcript.last_key(lines) == "u4"


def meanwhile(prompt: object, uuid: str, **about: object) -> dict[str, object]:
    """Return a line of a log for what came in while the agent was at work, as Claude Code 2.1 writes it."""
    attached = {"type": "queued_command", "prompt": prompt, "commandMode": "prompt", **about}
    return {
        "type": "attachment",
        "sessionId": "s1",
        "uuid": uuid,
        "isSidechain": False,
        "attachment": attached,
    }


def test_what_is_typed_while_the_agent_works_was_said_too() -> None:
    """No event tells of it, the log has it as an attachment; what programs put in the queue is nobody's."""
    person = {"origin": {"kind": "human"}}
    lines = [
        line("user", "paint the boat", "u1"),
        meanwhile("in red, please", "q1", **person),
        meanwhile([{"type": "text", "text": "not in blue"}, {"type": "image"}], "q2", **person),
        meanwhile("task 7 is done", "q3", commandMode="task-notification"),
        meanwhile("task 8 is done", "q4", origin={"kind": "task-notification"}),
        {**meanwhile("x", "q5"), "attachment": {"type": "hook_success", "content": "never said"}},
        line("assistant", "It is red.", "a1"),
    ]

    said = transcript.said(lines, session="claude-code:s1")

    assert [one.content for one in said] == ["paint the boat", "in red, please", "not in blue", "It is red."]
    assert [one.key for one in said] == ["u1", "q1", "q2", "a1"]


def test_a_huge_log_is_read_from_its_end(tmp_path: Path) -> None:
    """Neither a gigabyte before nor a line that is a picture is ever looked at."""
    path = tmp_path / "s1.jsonl"
    with path.open("wb") as file:
        file.truncate(3_000_000_000)  # a hole: as large to read, free to make
        file.seek(0, os.SEEK_END)
        file.write(b"\n" + json.dumps(line("user", "hello", "u1")).encode() + b"\n{broken\n\xff\xff\n[1]\n")

    assert [one["uuid"] for one in transcript.tail(str(path))] == ["u1"]


def test_only_a_plain_file_is_read(tmp_path: Path) -> None:
    """A pipe would never end, a link could lead anywhere, and a device is neither."""
    real = write(tmp_path / "real.jsonl", [line("user", "hello", "u1")])
    (tmp_path / "link.jsonl").symlink_to(real)
    (tmp_path / "folder.jsonl").mkdir()
    os.mkfifo(tmp_path / "pipe.jsonl")

    odd = ["link.jsonl", "folder.jsonl", "pipe.jsonl", "none.jsonl", "nul\0.jsonl", "/dev/zero", ""]

    assert [transcript.tail(str(tmp_path / name)) for name in odd] == [[]] * len(odd)
    assert len(transcript.tail(real)) == 1


def block(*rows: str) -> str:
    """Return a block of memories as `context` makes it."""
    return frame_block("\n".join(rows), tag="memories", notice=NOTICE)


def test_a_session_is_given_each_memory_once(tmp_path: Path) -> None:
    """Days and titles above nothing go with their lines; another session gets them all."""
    given_ = DeliveredLines(Settings(home=tmp_path), "s1")
    first = block("# Recalled", "1 May 2026:", "- user: I use Helix", "- note: little fits")
    more = block("# Recalled", "1 May 2026:", "- user: I use Helix", "2 May 2026:", "- user: I like tea")

    shown = [given_.filter_new([text]) for text in (first, first, more)]

    assert shown[0] == block("# Recalled", "1 May 2026:", "- user: I use Helix")
    assert shown[1] == ""
    assert shown[2] == block("# Recalled", "2 May 2026:", "- user: I like tea")
    assert DeliveredLines(Settings(home=tmp_path), "s2").filter_new([first]) == shown[0]
    given_.reset()
    assert given_.filter_new([first]) == shown[0]


def test_what_is_said_in_two_blocks_is_given_in_the_first(tmp_path: Path) -> None:
    """What stands may well fit the prompt too."""
    given = DeliveredLines(Settings(home=tmp_path), "s1")

    both = given.filter_new(
        [block("- user: I use Helix"), block("- user: I use Helix", "- user: I like tea")]
    )

    assert both.count("Helix") == 1
    assert "tea" in both


def test_what_was_given_is_kept_without_words(tmp_path: Path) -> None:
    """The file beside an encrypted store cannot even be used to check a guess."""
    text = block("# Recalled", "- user: I use Helix")
    DeliveredLines(Settings(home=tmp_path), "s1").filter_new([text])
    plain = {path.read_bytes() for path in tmp_path.rglob("given-*")}
    DeliveredLines(Settings(home=tmp_path, key="ab" * 32), "s1").filter_new([text])
    both = {path.read_bytes() for path in tmp_path.rglob("given-*")}

    assert len(both) == 2
    assert plain < both
    assert not any(b"Helix" in raw for raw in both)


@pytest.mark.parametrize("raw", [b"", b"{}", b"[1, null]", b"\xff", b"[" * 5000])
def test_a_damaged_note_of_what_was_given_costs_a_repetition(tmp_path: Path, raw: bytes) -> None:
    """Nothing that lies in that folder can stop a hook."""
    given_ = DeliveredLines(Settings(home=tmp_path), "s1")
    text = block("# Recalled", "- user: I use Helix")
    given_.filter_new([text])
    next(tmp_path.rglob("given-*")).write_bytes(raw)

    assert given_.filter_new([text]) == text
