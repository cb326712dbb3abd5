"""The commands that put memories in, get them out and change them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from engramdb import Engram
from engramdb.testing import ManualClock
from engramdb.values import Hit

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result
    from surfaces.fixtures import Command

NEAR = timedelta(minutes=5)


def parsed(result: Result) -> Any:
    """Return the JSON document that a command printed."""
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def remembered(run: Command, text: str, *options: str) -> str:
    """Remember a text and return the memory's id."""
    return str(parsed(run("remember", text, "--json", *options))["id"])


def test_what_is_remembered_can_be_recalled(engram_command: Command) -> None:
    """Two commands, two processes' worth of opening and closing, one memory."""
    engram_command("remember", "The API uses JWT tokens", "--category", "fact")

    result = engram_command("recall", "which tokens does the API use?")

    assert result.exit_code == 0
    assert "The API uses JWT tokens" in result.stdout
    assert "found by" in result.stdout
    assert result.stderr == ""


def test_a_relative_time_is_shown_with_its_date(engram_command: Command, home: Path) -> None:
    """Wherever a person reads the words; JSON has them as they were said."""
    home.mkdir(exist_ok=True)
    with Engram.open(
        home / "memory.db", clock=ManualClock(datetime(2026, 5, 8, tzinfo=UTC)), background=False
    ) as engram:
        memory = engram.remember("The release is tomorrow")
    shown = "The release is tomorrow (9 May 2026)"

    for command in (("list",), ("recall", "when is the release?"), ("get", memory.id)):
        assert shown in " ".join(engram_command(*command).stdout.split())
    assert parsed(engram_command("get", memory.id, "--json"))["content"] == memory.content


def test_json_is_the_library_s_own_shape(engram_command: Command, home: Path) -> None:
    """A script sees the fields of the values, not a second format."""
    memory_id = remembered(engram_command, "Helix is my editor", "--importance", "0.8")

    answer = parsed(engram_command("recall", "which editor?", "--json"))

    with Engram.open(home / "memory.db", background=False) as engram:
        memory = engram.get(memory_id)
    found = answer["hits"][0]["memory"]
    assert (found["id"], found["content"], found["importance"]) == (memory_id, memory.content, 0.8)
    assert set(found) == set(memory.__struct_fields__) - {"private"}
    assert set(answer["hits"][0]) == set(Hit.__struct_fields__) >= {"memory", "score", "trust", "reasons"}
    assert answer["quality"]["missing"] == []


def test_a_recall_without_its_embedder_says_so(
    engram_command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hits found by words arrive, and stderr names the index that did not take part."""
    monkeypatch.setenv("ENGRAM_EMBEDDER", "e5-small")
    remembered(engram_command, "Helix is my editor")

    result = engram_command("recall", "editor")

    assert result.exit_code == 0
    assert "Helix is my editor" in result.stdout
    assert "vector did not take part" in result.stderr


def test_an_empty_answer_is_an_answer(engram_command: Command) -> None:
    """Nothing found is not a failure, and stdout stays empty for scripts."""
    engram_command("init")

    result = engram_command("recall", "anything")

    assert (result.exit_code, result.stdout) == (0, "")
    assert "Nothing was found" in result.stderr


def test_a_text_can_come_from_standard_input(engram_command: Command) -> None:
    """`-` reads UTF-8, with the line ends and byte order marks of other systems."""
    result = engram_command("remember", "-", "--json", stdin="\ufeffGrüße aus 東京 🎉\r\n".encode())

    assert parsed(result)["content"] == "Grüße aus 東京 🎉"


def test_standard_input_that_is_not_text_is_refused(engram_command: Command) -> None:
    """Half a character is an error in words and not a guess."""
    result = engram_command("remember", "-", stdin=b"caf\xe9")

    assert result.exit_code == 2
    assert "E4005" in result.stderr


def test_the_last_eight_characters_name_a_memory(engram_command: Command) -> None:
    """What `list` shows is enough for every other command."""
    memory_id = remembered(engram_command, "Helix is my editor")
    shown = engram_command("list").stdout.split()[0]

    result = engram_command("get", shown)

    assert shown == memory_id[-8:]
    assert memory_id in result.stdout


def test_get_tells_how_the_words_were_meant_and_what_they_answer(engram_command: Command) -> None:
    """A guess in reply to a question says neither by its words alone."""
    engram_command("observe", "Is Noor vegetarian?", "--role", "assistant", "--session", "s1")
    engram_command("observe", "I think she is, but not sure", "--session", "s1")
    engram_command("flush")
    shown = engram_command("list").stdout.split()[0]

    rows = engram_command("get", shown).stdout.splitlines()

    assert any(row.startswith("meant") and "hedged" in row for row in rows)
    assert any(row.startswith("answers") and "Is Noor vegetarian?" in row for row in rows)


def test_a_correction_takes_the_place_of_the_old(engram_command: Command) -> None:
    """The next recall finds the new statement only, and the history keeps the reason."""
    old = remembered(engram_command, "My editor is vim")

    engram_command("correct", old, "My editor is Helix", "--reason", "switched")

    answer = parsed(engram_command("recall", "editor", "--json"))
    assert [hit["memory"]["content"] for hit in answer["hits"]] == ["My editor is Helix"]
    assert "switched" in engram_command("history", old).stdout


def test_what_is_forgotten_is_gone(engram_command: Command) -> None:
    """Neither recall nor list finds it; its id still tells what became of it."""
    memory_id = remembered(engram_command, "My editor is vim")

    engram_command("forget", memory_id[-8:], "--reason", "old")

    assert parsed(engram_command("recall", "editor", "--json"))["hits"] == []
    assert parsed(engram_command("list", "--json")) == []
    assert parsed(engram_command("get", memory_id, "--json"))["status"] == "forgotten"


def test_what_was_done_is_listed_and_undone(engram_command: Command) -> None:
    """The lines name what counts again and how to take the undo back."""
    old = remembered(engram_command, "I live in Berlin.")
    new = remembered(engram_command, "I live in Lisbon now.")

    listed = engram_command("acts").stdout
    told = engram_command("undo").stdout

    assert listed.splitlines()[0].endswith("remember by user, 2 memories")
    assert f"counts again: {old[-8:]}  I live in Berlin." in told
    assert f"does not count any more: {new[-8:]}  I live in Lisbon now." in told
    assert "undo --act" in told
    assert [one["id"] for one in parsed(engram_command("list", "--json"))] == [old]
    assert engram_command("undo", "--act", parsed(engram_command("acts", "--json"))[0]["id"]).exit_code == 0
    assert [one["id"] for one in parsed(engram_command("list", "--json"))] == [new]


def test_a_refused_undo_names_what_stands_in_the_way(engram_command: Command) -> None:
    """Nothing is done until the later act is undone, too."""
    tea = remembered(engram_command, "Tea is nice")
    engram_command("pin", tea)
    pinned, stored = (one["id"] for one in parsed(engram_command("acts", "--json")))

    refused = engram_command("undo", "--act", stored)
    done = engram_command("undo", "--act", stored, "--with-later")

    assert refused.exit_code == 2
    assert refused.stderr.startswith("engram: E5015")
    assert pinned[-8:] in refused.stderr
    assert done.stdout.count("undid") == 2


def test_forgetting_a_wrong_newcomer_tells_what_it_had_displaced(engram_command: Command) -> None:
    """Without a terminal to ask on, it says how; `--reinstate` does it at once."""
    old = remembered(engram_command, "I live in Berlin.")
    new = remembered(engram_command, "I live in Lisbon now.")

    told = engram_command("forget", new)
    assert f"It had displaced {old[-8:]}" in told.stderr
    assert f"engram restore {old[-8:]}" in told.stderr
    engram_command("undo")
    done = engram_command("forget", new, "--reinstate")

    assert f"counts again: {old[-8:]}" in done.stdout
    assert [one["id"] for one in parsed(engram_command("list", "--json"))] == [old]


def test_pins_come_and_go(engram_command: Command) -> None:
    """Each is one word, and the history has both."""
    memory_id = remembered(engram_command, "My editor is vim")

    pinned = parsed(engram_command("pin", memory_id, "--json"))["pinned"]
    unpinned = parsed(engram_command("unpin", memory_id, "--json"))["pinned"]

    assert (pinned, unpinned) == (True, False)
    actions = [event["action"] for event in parsed(engram_command("history", memory_id, "--json"))]
    assert actions == ["remember", "pin", "unpin"]


def test_scopes_do_not_leak(engram_command: Command) -> None:
    """A user's memory is not there for another user, by recall, by list or by id."""
    memory_id = remembered(engram_command, "Ada prefers tea", "--user", "ada")

    for words in (["recall", "tea"], ["list"]):
        assert "tea" not in engram_command(*words, "--user", "bob").stdout
        assert "tea" in engram_command(*words, "--user", "ada").stdout
    assert engram_command("get", memory_id, "--user", "bob").exit_code == 3


def test_lists_are_narrowed_and_paged(engram_command: Command) -> None:
    """Newest first, the given category only, one page after the other."""
    for number in range(3):
        remembered(engram_command, f"fact number {number}", "--category", "fact")
    remembered(engram_command, "something else", "--category", "general")

    first = parsed(engram_command("list", "--json", "--category", "fact", "--limit", "2"))
    rest = parsed(engram_command("list", "--json", "--category", "fact", "--before", first[-1]["id"]))

    assert [one["content"] for one in first] == ["fact number 2", "fact number 1"]
    assert [one["content"] for one in rest] == ["fact number 0"]


def test_a_list_has_its_words_below_one_another(engram_command: Command) -> None:
    """Categories of different lengths share a column, and one that is far too long leaves it alone."""
    for category in ("fact", "preference", "a_category_as_long_as_a_statement"):
        remembered(engram_command, f"words about {category}", "--category", category)

    rows = engram_command("list").stdout.splitlines()

    long, *others = [row.index("words about") for row in rows]
    assert others[0] == others[1] < long


def test_who_finds_nothing_learns_of_other_scopes(engram_command: Command) -> None:
    """An agent was connected for Ada; a person who asks without her name is told where to look."""
    remembered(engram_command, "Ada likes green tea", "--user", "ada")

    for words in (("list",), ("recall", "tea"), ("export", "-")):
        assert "such as user=ada" in engram_command(*words).stderr
        assert "such as" not in engram_command(*words, "--user", "ada").stderr


def test_a_turn_is_kept_as_it_was_said(engram_command: Command, home: Path) -> None:
    """`observe` is durable when it returns."""
    turn = parsed(
        engram_command("observe", "I switched to Helix", "--role", "user", "--session", "s1", "--json")
    )

    with Engram.open(home / "memory.db", background=False) as engram:
        assert [one.id for one in engram.turns(session="s1")] == [turn["id"]]


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("2026-05-08", datetime(2026, 5, 8, tzinfo=UTC)),
        ("2026-05-08T14:30", datetime(2026, 5, 8, 14, 30, tzinfo=UTC)),
        ("2026-05-08T14:30+02:00", datetime(2026, 5, 8, 12, 30, tzinfo=UTC)),
    ],
)
def test_a_time_without_a_zone_is_utc(engram_command: Command, given: str, meant: datetime) -> None:
    """The same words mean the same moment on every machine."""
    memory = parsed(engram_command("remember", "x", "--occurred-at", given, "--json"))

    assert datetime.fromisoformat(memory["occurred_at"]) == meant


def test_a_memory_can_be_given_so_many_days(engram_command: Command) -> None:
    """`30d` is thirty days from now."""
    memory = parsed(engram_command("remember", "x", "--forget-after", "30d", "--json"))

    left = datetime.fromisoformat(memory["forget_after"]) - datetime.now(UTC)
    assert abs(left - timedelta(days=30)) < NEAR


@pytest.mark.parametrize("given", ["soon", "30x", "999999w", "2026-13-01"])
def test_a_time_that_is_none_is_refused(engram_command: Command, given: str) -> None:
    """Nothing is stored with a guessed time."""
    result = engram_command("remember", "x", "--forget-after", given)

    assert result.exit_code == 2
    assert given in result.stderr
    assert "Traceback" not in result.stderr


def test_text_cannot_steer_the_terminal(engram_command: Command) -> None:
    """Escape sequences and reversed writing arrive as harmless marks, also from a speaker's name."""
    engram_command("remember", "a\u202eb", "--speaker", "\x1b[31mEve")

    shown = engram_command("recall", "a").stdout + engram_command("list").stdout

    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_a_repeated_statement_is_said_to_be_known(engram_command: Command) -> None:
    """The second time reinforces, and the line says so."""
    first = engram_command("remember", "Tea is nice").stdout
    second = engram_command("remember", "tea is nice").stdout

    assert first.startswith("remembered ")
    assert second.startswith("reinforced (1×)")


def test_what_was_only_supposed_or_guessed_is_marked(engram_command: Command) -> None:
    """A list and an answer show it; plain statements carry no mark."""
    engram_command("observe", "If I won the lottery I'd live in Norway", "--session", "s1")
    engram_command("observe", "I think the depot is in Venlo", "--speaker", "Ann", "--session", "s2")
    engram_command("remember", "The API uses JWT tokens")
    engram_command("flush")

    for command in (("list",), ("recall", "Norway, Venlo, API?")):
        shown = engram_command(*command).stdout
        assert "(supposed) If I won" in shown
        assert "Ann (unsure): " in shown
        assert "  The API uses" in shown


def test_a_brief_without_room_does_not_call_the_store_empty(engram_command: Command) -> None:
    """And an empty one is called so."""
    engram_command("init")
    empty = engram_command("brief").stderr
    engram_command("remember", "The API uses JWT tokens")

    assert "Nothing is known yet." in empty
    assert engram_command("brief", "--budget", "5").stderr == "1 memory had no room in 5 tokens.\n"


def test_a_session_that_never_was_is_not_called_short(engram_command: Command) -> None:
    """It is not there, and the exit code says so."""
    engram_command("observe", "hello", "--session", "s1")

    absent, short = engram_command("end-session", "nope"), engram_command("end-session", "s1")

    assert (absent.exit_code, short.exit_code) == (3, 0)
    assert "no session 'nope'" in absent.stderr
    assert "too short" in short.stderr


def test_what_was_known_in_other_words_is_shown_as_such(engram_command: Command) -> None:
    """The answer is what stands for it, and says so."""
    engram_command("remember", "I live in Paris")

    again = engram_command("remember", "I moved to Paris")

    assert "I live in Paris" in again.stdout
    assert "known already in these words" in again.stdout


def test_the_other_wordings_of_a_memory_are_shown_by_evidence(engram_command: Command, home: Path) -> None:
    """With the messages they were said in; `get` counts them."""
    home.mkdir(exist_ok=True)
    with Engram.open(home / "memory.db", background=False) as engram:
        for words in ("We buy our bread at the corner", "We purchase our bread at the corner"):
            engram.observe(words, role="user", session="s1")
        engram.flush()
        engram.dream(steps=["merge"])
        (memory,) = engram.list()
    (other,) = {"We buy our bread at the corner", "We purchase our bread at the corner"} - {memory.content}

    shown = engram_command("evidence", memory.id).stdout

    assert "also said as" in shown
    assert other in shown
    assert "said in" in shown
    assert parsed(engram_command("evidence", memory.id, "--json"))["wordings"][0]["content"] == other
    assert "in 1 other wording" in engram_command("get", memory.id).stdout
