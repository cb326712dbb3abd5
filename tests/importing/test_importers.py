"""What each importer takes out of its source, and what it leaves there."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from engramdb.importing.read import IMPORTERS, kind_of, read_source
from engramdb.importing.source import (
    BrokenRecord,
    SkippedFile,
    SourceFile,
    SourceMessage,
    SourceStatement,
    source_files,
)
from engramdb.values import ImportKind, Role

from . import sources

if TYPE_CHECKING:
    from pathlib import Path

    from engramdb.importing.source import Record


def written(folder: Path, name: str, content: str | bytes | list[Any] | dict[str, Any]) -> Path:
    """Write a source and return its path."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, list | dict):
        content = json.dumps(content)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def records(path: Path, **options: Any) -> list[Record | SkippedFile]:
    """Everything that a source gives, in order."""
    return [record for _, record in read_source(path, **options)]


def messages(path: Path) -> list[SourceMessage]:
    """The messages of a source; fails if there is anything else."""
    found = records(path)
    assert all(isinstance(one, SourceMessage) for one in found)
    return [one for one in found if isinstance(one, SourceMessage)]


def statements(path: Path, **options: Any) -> list[SourceStatement]:
    """The statements of a source, without what could not be read."""
    return [one for one in records(path, **options) if isinstance(one, SourceStatement)]


KINDS: dict[ImportKind, tuple[str, Any]] = {
    ImportKind.CHATGPT: ("conversations.json", [sources.chatgpt_conversation()]),
    ImportKind.CLAUDE: ("conversations.json", [sources.claude_conversation()]),
    ImportKind.CLAUDE_CODE: ("s-1.jsonl", sources.as_lines(sources.claude_code_lines())),
    ImportKind.CODEX: ("rollout-1.jsonl", sources.as_lines(sources.codex_lines())),
    ImportKind.ENGRAM: ("memories.jsonl", '{"engram": 1, "content": "Oolong is best"}\n'),
    ImportKind.MEM0: ("dump.json", sources.mem0_dump()),
    ImportKind.OPENCODE: ("session.json", sources.opencode_session()),
    ImportKind.LANGGRAPH: ("items.json", {"items": sources.langgraph_items()}),
    ImportKind.AGENTMEMORY: ("export.jsonl", sources.as_lines(sources.agentmemory_lines())),
    ImportKind.MARKDOWN: ("note.md", "# Tea\n\nOolong is best."),
    ImportKind.TEXT: ("note.txt", "Oolong is best."),
    ImportKind.PDF: ("paper.pdf", sources.pdf_bytes(["Oolong is best."])),
    ImportKind.CSV: ("rows.csv", "text,date\nOolong is best,2024-05-01\n"),
    ImportKind.JSONL: ("rows.jsonl", '{"text": "Oolong is best", "source": "me"}\n'),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_is_known_by_its_content(tmp_path: Path, kind: ImportKind) -> None:
    """Nobody has to say what wrote a file: every kind is told from the others, and is read without a loss."""
    path = written(tmp_path, *KINDS[kind])

    found = list(read_source(path))

    assert {told for told, _ in found} == {kind}
    assert any(isinstance(record, SourceMessage | SourceStatement) for _, record in found)


def test_every_kind_has_an_importer() -> None:
    """What can be named can be read; a repository is a folder and no file."""
    assert set(IMPORTERS) == set(KINDS) == set(ImportKind) - {ImportKind.CODEBASE}


def test_a_jsonl_file_by_another_name_is_still_one(tmp_path: Path) -> None:
    """Lines of objects are recognised without the ending."""
    path = written(tmp_path, "session", sources.as_lines(sources.codex_lines()))

    with source_files(path) as found:
        (piece,) = found
        assert isinstance(piece, SourceFile)

        assert kind_of(piece) is ImportKind.CODEX


def test_chatgpt_gives_the_branch_that_the_user_saw(tmp_path: Path) -> None:
    """Prompts edited away, tool calls, thoughts and hidden instructions are not part of the talk."""
    path = written(tmp_path, "conversations.json", [sources.chatgpt_conversation()])

    said = messages(path)

    assert [(one.role, one.content) for one in said] == [
        (Role.USER, "I live in Lisbon and work at Harbor Labs"),
        (Role.ASSISTANT, "Lisbon is lovely in May."),
        (Role.USER, "My dog is called Pixel"),
        (Role.ASSISTANT, "Pixel looks happy!"),
    ]
    assert {one.session for one in said} == {"chatgpt:c-1"}
    assert said[0].occurred_at == datetime(2024, 5, 1, 8, 0, 3, 500_000, UTC)


def test_chatgpt_without_a_present_node_ends_where_the_talk_ended(tmp_path: Path) -> None:
    """Older exports do not say where the user stood; the latest message does."""
    conversation = sources.chatgpt_conversation()
    del conversation["current_node"]

    said = messages(written(tmp_path, "conversations.json", [conversation]))

    assert said[-1].content == "Pixel looks happy!"


def test_a_circle_of_parents_does_not_hold_the_import_up(tmp_path: Path) -> None:
    """A damaged tree is read as far as it goes."""
    conversation = sources.chatgpt_conversation()
    conversation["mapping"]["n3"]["parent"] = "n9"

    said = messages(written(tmp_path, "conversations.json", [conversation]))

    assert said[-1].content == "Pixel looks happy!"


def test_claude_gives_what_both_said(tmp_path: Path) -> None:
    """Attachments and tools are left out, times and the conversation are kept."""
    said = messages(written(tmp_path, "conversations.json", [sources.claude_conversation()]))

    assert [(one.role, one.content) for one in said] == [
        (Role.USER, "I prefer oolong tea"),
        (Role.ASSISTANT, "Oolong it is."),
    ]
    assert said[1].occurred_at == datetime(2024, 5, 1, 8, 0, 5, tzinfo=UTC)
    assert {one.session for one in said} == {"claude:k-1"}


def test_claude_code_gives_the_talk_and_not_the_machinery(tmp_path: Path) -> None:
    """Tool results, commands, sub-agents and what the program put in are no talk."""
    said = messages(written(tmp_path, "s-1.jsonl", sources.as_lines(sources.claude_code_lines())))

    assert [one.content for one in said] == ["We deploy with Terraform on Fridays", "Understood, Fridays."]
    assert [one.key for one in said] == ["a", "b"]
    assert said[0].session == "claude-code:s-1"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (sources.codex_lines(), ["Our API uses JWT tokens", "Noted, JWT."]),
        (sources.real_codex_lines(), ["We water with a new pump", "The pump is noted."]),
        (sources.old_codex_lines(), ["Tests run on uv"]),
    ],
    ids=["2025", "real", "old"],
)
def test_codex_gives_each_message_once(tmp_path: Path, lines: list[dict[str, Any]], said: list[str]) -> None:
    """A message that an event repeats is read once, in the form of today and in the first one."""
    found = messages(written(tmp_path, "rollout-x.jsonl", sources.as_lines(lines)))

    assert [one.content for one in found] == said
    assert all((one.session or "").startswith("codex:cx-") for one in found)


@pytest.mark.parametrize(
    "about", [{"thread_source": "subagent"}, {"source": {"subagent": "review"}}], ids=["thread", "source"]
)
def test_what_codex_tells_its_helpers_is_no_talk_of_a_person(tmp_path: Path, about: dict[str, Any]) -> None:
    """A helper has a log of its own, in which the agent speaks in the person's place."""
    path = written(tmp_path, "rollout-helper.jsonl", sources.as_lines(sources.real_codex_lines(**about)))

    assert messages(path) == []


def test_a_message_of_codex_is_known_by_its_id(tmp_path: Path) -> None:
    """So that it is the same whether a hook or an import brings it, wherever in the log it stands."""
    lines = sources.real_codex_lines()

    whole = messages(written(tmp_path, "rollout-whole.jsonl", sources.as_lines(lines)))
    later = messages(written(tmp_path, "rollout-later.jsonl", sources.as_lines([lines[0], *lines[4:]])))

    assert [one.key for one in whole] == [one.key for one in later] == ["cx-9/msg_4", "cx-9/msg_7"]


def test_opencode_gives_the_talk_and_not_the_machinery(tmp_path: Path) -> None:
    """Tools, what the program put into a message, and its own summary are no talk."""
    said = messages(written(tmp_path, "session.json", sources.opencode_session()))

    assert [one.content for one in said] == ["We keep the greenhouse at 21 degrees", "Noted, 21 degrees."]
    assert [(one.key, one.session) for one in said] == [
        ("msg_1", "opencode:ses_1"),
        ("msg_3", "opencode:ses_1"),
    ]
    assert said[0].occurred_at == datetime(2026, 11, 15, 18, 27, 40, 222000, tzinfo=UTC)


def test_mem0_keeps_users_apart(tmp_path: Path) -> None:
    """Whose memory it is comes along, and relations are no memories."""
    maya, tom = statements(written(tmp_path, "dump.json", sources.mem0_dump()))

    assert (maya.user, maya.category, maya.key) == ("maya", "health", "m-1")
    assert maya.occurred_at == datetime(2024, 5, 1, 17, tzinfo=UTC)
    assert (tom.user, tom.session) == ("tom", "mem0:r-9")


def test_langgraph_values_are_put_into_words(tmp_path: Path) -> None:
    """A text, a wrapped text and plain fields are all read; a mapping says whose they are."""
    path = written(tmp_path, "items.json", sources.langgraph_items())

    found = records(path, mapping={"user": "namespace.1"})

    kept = [one for one in found if isinstance(one, SourceStatement)]
    assert [one.content for one in kept] == [
        "I like pizza",
        "Tom moved to Oslo",
        "editor: Helix; tab width: 4",
    ]
    assert [one.user for one in kept] == ["maya", "tom", None]
    assert found[3] == BrokenRecord(place="items.json: record 4")


def test_agentmemory_gives_the_latest_of_each(tmp_path: Path) -> None:
    """A version that was replaced there does not come back here."""
    (one,) = statements(written(tmp_path, "export.jsonl", sources.as_lines(sources.agentmemory_lines())))

    assert one.content == "Deploys: Staging is deployed before production"
    assert (one.importance, one.session) == (0.8, "agentmemory:z-1")


NOTE = """\
---
title: Harbor Labs
date: 2024-05-01
tags:
  - work
  - decision
---
Founded by [[Maya Okafor|Maya]] in **Lisbon**.
It builds boats.

%% a comment that nobody should see %%
![[picture.png]]

## Stack
- We use [Postgres](https://postgres.example) ^block-1
  - version 16
- [ ] Try [[Helix]]
- [x] Drop vim

---

```python
x = 1  # [[not a link]]
```
"""


def test_a_note_becomes_statements_under_their_headings(tmp_path: Path) -> None:
    """Links keep their words, boxes their meaning, code its form, and comments and pictures stay out."""
    found = statements(written(tmp_path, "work/harbor.md", NOTE).parent.parent)

    assert [one.content for one in found] == [
        "Harbor Labs: Founded by Maya in Lisbon. It builds boats.",
        "Harbor Labs, Stack: We use Postgres\n  - version 16",
        "Harbor Labs, Stack: To do: Try Helix",
        "Harbor Labs, Stack: Done: Drop vim",
        "Harbor Labs, Stack: ```python\nx = 1  # [[not a link]]\n```",
    ]
    assert {one.category for one in found} == {"decision"}
    assert {one.occurred_at for one in found} == {datetime(2024, 5, 1, tzinfo=UTC)}
    assert found[0].place == "work/harbor.md: line 8"


def test_a_daily_note_is_dated_by_its_name(tmp_path: Path) -> None:
    """What was noted on a day happened on that day."""
    (one,) = statements(written(tmp_path, "2024-05-03.md", "## Evening\nDinner with Tom"))

    assert one.content == "Evening: Dinner with Tom"
    assert one.occurred_at == datetime(2024, 5, 3, tzinfo=UTC)


def test_dashes_that_are_never_closed_are_no_front_matter(tmp_path: Path) -> None:
    """A note that begins with a line is read from its first line on."""
    (one,) = statements(written(tmp_path, "n.md", "---\nkind: of a list\n"))

    assert one.content == "n: kind: of a list"


def test_a_text_becomes_its_paragraphs(tmp_path: Path) -> None:
    """Wrapped lines are joined, a word that was hyphenated is whole, and page numbers say nothing."""
    text = "The boat-\nyard opened\nin 1990.\r\n\r\n  12  \n\nIt closed in 2001.\n"

    found = statements(written(tmp_path, "story.txt", text))

    assert [(one.content, one.place) for one in found] == [
        ("The boatyard opened in 1990.", "story.txt: line 1"),
        ("It closed in 2001.", "story.txt: line 7"),
    ]


def test_a_long_paragraph_is_cut_between_sentences(tmp_path: Path) -> None:
    """No passage is longer than a memory should be, and no word is lost."""
    text = " ".join(f"Sentence number {number} speaks of boats." for number in range(100))

    found = statements(written(tmp_path, "long.txt", text))

    assert " ".join(one.content for one in found) == text
    assert all(len(one.content) <= 800 and one.content.endswith(".") for one in found)


def test_a_pdf_is_read_page_by_page(tmp_path: Path) -> None:
    """A statement says which page it stands on."""
    path = written(tmp_path, "paper.pdf", sources.pdf_bytes(["The harbour froze.", "It thawed in May."]))

    found = statements(path)

    assert [(one.content, one.place) for one in found] == [
        ("The harbour froze.", "paper.pdf: page 1"),
        ("It thawed in May.", "paper.pdf: page 2"),
    ]


def test_a_table_is_read_by_a_mapping(tmp_path: Path) -> None:
    """Columns have any names and any separator; what a row lacks is left open."""
    path = written(tmp_path, "rows.csv", 'Was;Wann;Wer\n"Tee; grün";2024-05-01;Maya\nKaffee;;\n;2024;Tom\n')
    mapping = {"content": "Was", "occurred_at": "Wann", "speaker": "Wer"}

    found = records(path, mapping=mapping)

    assert isinstance(found[0], SourceStatement)
    assert isinstance(found[1], SourceStatement)
    assert (found[0].content, found[0].speaker) == ("Tee; grün", "Maya")
    assert found[0].occurred_at == datetime(2024, 5, 1, tzinfo=UTC)
    assert (found[1].content, found[1].speaker, found[1].occurred_at) == ("Kaffee", None, None)
    assert found[2] == BrokenRecord(place="rows.csv: row 4")


def test_a_table_in_a_folder_is_taken_when_asked_for(tmp_path: Path) -> None:
    """Any file with a column called text would be too much: in a folder tables need a kind or a mapping."""
    written(tmp_path, "rows.csv", "text\nThe boat is red\n")
    written(tmp_path, "note.md", "A note")

    unasked, by_kind = statements(tmp_path), statements(tmp_path, kind=ImportKind.CSV)
    mapped = statements(tmp_path, mapping={"content": "text"})

    assert [one.content for one in unasked] == ["note: A note"]
    assert [one.content for one in by_kind] == ["The boat is red"]
    assert {one.content for one in mapped} == {"note: A note", "The boat is red"}


def test_rows_with_a_role_are_a_conversation(tmp_path: Path) -> None:
    """A table of messages becomes turns and not statements."""
    lines = [
        {"payload": {"text": "I live in Oslo"}, "who": "human", "thread_id": "t"},
        {"payload": {"text": "Nice"}, "who": "ai", "thread_id": "t"},
    ]
    path = written(tmp_path, "chat.jsonl", sources.as_lines(lines))

    found = records(path, kind=ImportKind.JSONL, mapping={"content": "payload.text", "role": "who"})

    assert [type(one) for one in found] == [SourceMessage, SourceMessage]
    assert [one.role for one in found if isinstance(one, SourceMessage)] == [Role.USER, Role.ASSISTANT]
