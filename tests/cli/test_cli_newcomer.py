"""What somebody new to the command line reads: what became of a statement, what was meant, how many."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from engramdb.text.normalize import counted, memories

if TYPE_CHECKING:
    from pathlib import Path

    from surfaces.fixtures import Command

CHAT = [
    {
        "title": "Hiking",
        "conversation_id": "c1",
        "create_time": 1700000000,
        "current_node": "a",
        "mapping": {
            "a": {
                "parent": None,
                "children": [],
                "message": {
                    "id": "m1",
                    "author": {"role": "user"},
                    "create_time": 1700000000,
                    "content": {"content_type": "text", "parts": ["I love hiking in the Alps."]},
                },
            }
        },
    }
]


@pytest.fixture
def chats(tmp_path: Path) -> Path:
    """A ChatGPT export with one message."""
    file = tmp_path / "conversations.json"
    file.write_text(json.dumps(CHAT), encoding="utf-8")
    return file


def first_id(engram_command: Command, text: str, *more: str) -> str:
    """Remember a statement and return its id."""
    stored = engram_command("remember", text, "--json", *more)
    return str(json.loads(stored.stdout)["id"])


def test_remember_says_what_it_replaced(engram_command: Command) -> None:
    """A statement that takes the place of another names it, words and all."""
    old = first_id(engram_command, "Ben lives in Lisbon")

    told = engram_command("remember", "Ben lives in Porto").stdout

    assert told.startswith("remembered ")
    assert f"in place of {old[-8:]}  Ben lives in Lisbon" in told


def test_remember_says_what_was_known_already(engram_command: Command) -> None:
    """The second time nothing new is stored, and the answer says so."""
    engram_command("remember", "The API uses JWT tokens")

    told = engram_command("remember", "The API uses JWT tokens").stdout

    assert told.startswith("reinforced (1×)")
    assert "known already; it counts for more now" in told


def test_remember_says_that_a_statement_is_confidential(engram_command: Command) -> None:
    """Whoever stores a card number is told how it was stored, and `get` tells it too."""
    told = engram_command("remember", "My credit card is 4111 1111 1111 1111").stdout
    shown = engram_command("get", told.split()[1]).stdout

    assert "stored as confidential" in told
    assert "security        confidential" in shown


def test_a_plain_statement_says_nothing_of_security(engram_command: Command) -> None:
    """A line that is always there is read by nobody; `get` has it for who asks."""
    told = engram_command("remember", "The build takes nine minutes").stdout
    shown = engram_command("get", told.split()[1]).stdout

    assert len(told.splitlines()) == 1
    assert "security        cleartext" in shown


def test_a_history_has_no_empty_values_and_no_long_ids(engram_command: Command) -> None:
    """A field that was empty before has no old value to show, and an id is what a command takes."""
    old = first_id(engram_command, "Ben lives in Lisbon")
    new = first_id(engram_command, "Ben lives in Porto")

    told = engram_command("history", old).stdout

    assert "None" not in told
    assert f"superseded by {new[-8:]}" in told
    assert new not in told


def test_importing_what_is_not_there_is_one_line_and_makes_no_store(
    engram_command: Command, home: Path, tmp_path: Path
) -> None:
    """The path is named, the code is that of a wrong call, and no empty store is left behind."""
    missing = tmp_path / "no-such-export.zip"

    done = engram_command("import", str(missing))

    assert done.exit_code == 2
    assert f"there is no file or folder at {missing}" in done.stderr
    assert not (home / "memory.db").exists()


def test_an_import_of_nothing_ends_with_one(engram_command: Command, tmp_path: Path) -> None:
    """An empty folder is not a success that a script may build on."""
    (tmp_path / "empty").mkdir()

    done = engram_command("import", str(tmp_path / "empty"))

    assert done.exit_code == 1
    assert "Nothing came in." in done.stderr


def test_one_person_s_conversations_for_everybody_are_warned_of(engram_command: Command, chats: Path) -> None:
    """The warning stands already in the dry run, and says how to name the person."""
    done = engram_command("import", str(chats), "--dry-run")

    assert "--user NAME" in done.stderr
    assert "--speaker NAME" in done.stderr
    assert "found 1 record (1 of chatgpt)" in done.stdout
    assert "would have stored 1 turn" in done.stdout


def test_a_speaker_is_spoken_of_by_name(engram_command: Command, chats: Path) -> None:
    """What the user said becomes what Ann said, in a scope of her own, and nobody is warned."""
    done = engram_command("import", str(chats), "--user", "ann", "--speaker", "Ann")
    known = engram_command("list", "--user", "ann").stdout

    assert "NAME" not in done.stderr
    assert "Ann: I love hiking" in known


def test_another_speaker_does_not_import_twice(engram_command: Command, chats: Path) -> None:
    """A message is known by what the source says of it, and not by the name that it is given."""
    engram_command("import", str(chats), "--user", "ann", "--speaker", "Ann")

    again = engram_command("import", str(chats), "--user", "ann", "--speaker", "Anna", "--json")

    assert json.loads(again.stdout)["already"] == 1
    assert json.loads(again.stdout)["turns"] == 0


def test_the_sections_of_a_window_add_up(engram_command: Command) -> None:
    """What stands around the sections has a row of its own, so that the column adds up to the whole."""
    engram_command("remember", "Ben lives in Porto")

    told = engram_command("context", "where does Ben live?", "--sections").stdout

    rows = {line.split("  ")[0]: line.removeprefix(line.split("  ")[0]).split() for line in told.splitlines()}
    parts = [int(cells[0]) for name, cells in rows.items() if cells and cells[0].isdigit() and name != "all"]
    assert "frame" in rows
    assert sum(parts) == int(rows["all"][0])


def test_aging_says_how_many_of_those_it_looked_at_are_alive(engram_command: Command) -> None:
    """The tiers count the living only, and the first line says how many these are."""
    first_id(engram_command, "Ben lives in Lisbon")
    first_id(engram_command, "Ben lives in Porto")

    told = engram_command("age").stdout

    assert "looked at 2 memories, 1 of them living, under the policy" in told


def test_a_dream_shows_what_it_did_and_the_rest_on_request(engram_command: Command) -> None:
    """Steps that found nothing to do are counted; --verbose lists them with their reasons."""
    engram_command("remember", "Ben lives in Porto")

    short, long = engram_command("dream", "--dry-run"), engram_command("dream", "--dry-run", "--verbose")

    assert "found nothing to do; --verbose shows all" in short.stdout
    assert "merge" not in short.stdout + short.stderr
    assert "drift was skipped" in long.stdout
    assert "merge" in long.stdout


def test_a_timeline_of_a_name_tells_what_speaks_of_it_in_other_words(engram_command: Command) -> None:
    """What Ben said is part of Ben's story, also where his name is not in the words."""
    engram_command("remember", "I moved to Faro", "--speaker", "Ben")
    engram_command("remember", "Carla moved to Rome", "--speaker", "Carla")

    told = engram_command("timeline", "Ben").stdout

    assert "moved to Faro" in told
    assert "Rome" not in told


def test_a_timeline_can_be_narrowed_to_an_entity(engram_command: Command) -> None:
    """Of all who moved, only the one who was asked for."""
    engram_command("remember", "Ben moved to Faro")
    engram_command("remember", "Carla moved to Rome")

    told = engram_command("timeline", "moved to another city", "--entity", "Ben").stdout

    assert "Rome" not in told


def test_confidence_does_not_take_a_name_for_an_answer(engram_command: Command) -> None:
    """Much is known of Ben, but not when his birthday is; the answer says which word nothing speaks of."""
    for fact in ("Ben lives in Porto", "Ben works at Acme", "Ben likes green tea"):
        engram_command("remember", fact)

    birthday = json.loads(engram_command("confidence", "When is Ben's birthday?", "--json").stdout)
    home = json.loads(engram_command("confidence", "Where does Ben live?", "--json").stdout)

    assert birthday["certainty"] != "confident"
    assert "birthday" in birthday["reason"]
    assert home["certainty"] != "unknown"
    assert "speaks of" not in home["reason"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("recall", "x", "--foo"), "engram: No such option '--foo'."),
        (("rember",), "engram: No such command 'rember'. Did you mean 'remember'"),
        (("get",), "engram: Missing argument 'ID'."),
        (
            ("list", "--limit", "many"),
            "engram: Invalid value for '--limit' / '-n': 'many' is not a valid integer.",
        ),
        (("list", "--status", "dead"), "engram: Invalid value for '--status': 'dead' is not one of"),
        (("models", "lst"), "engram: No such command 'lst'. Did you mean 'list'?"),
    ],
)
def test_a_wrong_call_is_two_lines(engram_command: Command, arguments: tuple[str, ...], told: str) -> None:
    """The mistake and how the command is used, in plain words; nothing on stdout, exit code 2."""
    done = engram_command(*arguments)

    mistake, usage = done.stderr.splitlines()
    assert mistake.startswith(told)
    assert usage.startswith("usage: engram")
    assert (done.exit_code, done.stdout) == (2, "")


def test_the_same_question_has_one_name(engram_command: Command) -> None:
    """`feedback` takes --question, as the commands that ask do; the older --query still works."""
    known = first_id(engram_command, "Helix is my editor")

    new = engram_command("feedback", known, "--helpful", "--question", "which editor?")
    old = engram_command("feedback", known, "--helpful", "--query", "which editor?")

    assert (new.exit_code, old.exit_code) == (0, 0)


def test_doctor_says_that_all_is_well_in_words(engram_command: Command) -> None:
    """Nobody has to read that zero things are wrong."""
    engram_command("remember", "Helix is my editor")

    told = engram_command("doctor").stdout

    assert " 0 " not in told
    assert "every memory is in it" in told
    assert "every memory has its vector" in told


def test_one_is_never_many() -> None:
    """One memory, two memories, no memories."""
    assert [memories(number) for number in (0, 1, 2)] == ["0 memories", "1 memory", "2 memories"]
    assert counted(12_345, "turn", "turns") == "12,345 turns"


def test_lines_about_one_memory_say_one(engram_command: Command) -> None:
    """Every command that counts was asked about a store with a single memory."""
    engram_command("remember", "Helix is my editor")
    verbs = (
        ("init",),
        ("rebuild",),
        ("forecast",),
        ("age",),
        ("policy", "compare"),
        ("confidence", "which editor?"),
        ("status",),
    )

    told = [engram_command(*one) for one in verbs]

    assert [one.stdout + one.stderr for one in told if "1 memories" in one.stdout + one.stderr] == []
