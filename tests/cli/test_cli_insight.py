"""The commands for what is known of the knowledge, for agents' minds, and for who did what."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from engramdb import Draft, Engram, Scope, Settings
from engramdb.cli.bench import statement
from engramdb.testing import TinyEmbedder
from engramdb.values import Gap, GapKind

if TYPE_CHECKING:
    from pathlib import Path

    from surfaces.fixtures import Command

CODER = Scope(agent="coder")


@pytest.fixture
def gap(home: Path) -> Gap:
    """A store with one memory and one open question about it."""
    with Engram.open(settings=Settings(home=home), background=False) as engram:
        memory = engram.remember("Ada works on the Falcon project")
        gap = Gap(
            id="4f1c77ab0d52",
            kind=GapKind.MISSING_FIELD,
            question="What is Ada's role?",
            memories=(memory.id,),
            found_at=memory.created_at,
        )
        with engram._parts.store.atomic() as tx:
            tx.gaps.put(gap)
    return gap


def answer(command: Command, *words: str) -> Any:
    """Return what a command says in JSON; fails with its errors if it fails."""
    result = command(*words, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_context_prints_the_prompt_and_tells_shortfalls_aside(engram_command: Command) -> None:
    """What a model is given goes to stdout, whole, and ends in the message."""
    engram_command("remember", "The API uses JWT tokens", "--category", "fact")

    shown = engram_command("context", "how do clients log in to the API?", "--budget", "2000")
    costs = engram_command("context", "how do clients log in to the API?", "--budget", "2000", "--sections")

    assert "JWT tokens" in shown.stdout
    assert shown.stdout.rstrip().endswith("how do clients log in to the API?")
    assert "recalled" in costs.stdout
    assert " of 2000 tokens" in costs.stdout
    assert answer(engram_command, "context", "hello", "--budget", "300")["budget"] == 300


def test_a_window_that_cannot_be_filled_is_misuse(engram_command: Command) -> None:
    """A budget below nothing is refused in words."""
    engram_command("remember", "x")

    result = engram_command("context", "hello", "--budget", "-5")

    assert result.exit_code == 2
    assert result.stderr.startswith("engram: E2004 ")


def test_open_questions_are_shown_and_answered(engram_command: Command, gap: Gap) -> None:
    """The answer is remembered, and the question is not open any more."""
    assert "What is Ada's role?" in engram_command("gaps").stdout

    answered = answer(engram_command, "answer", gap.id, "Ada is the lead of Falcon")

    assert answered["holds"][0]["content"] == "Ada is the lead of Falcon"
    assert answer(engram_command, "gaps") == []
    assert engram_command("gaps").stderr == "No question is open; `engram dream` looks for some.\n"


def test_a_no_says_what_is_gone_and_what_stood_there_before(engram_command: Command) -> None:
    """The question is named by the end of its id, as a prompt shows it."""
    engram_command("remember", "The office is on the third floor")
    old = answer(engram_command, "list")[0]["id"]
    engram_command("correct", old, "The office is on the ninth floor")
    new = answer(engram_command, "list")[0]["id"]
    engram_command("set-status", new, "challenged", "--reason", "somebody doubts it")
    engram_command("dream")
    gap = answer(engram_command, "gaps")[0]

    told = engram_command("answer", gap["id"][-8:], "no")

    assert "“The office is on the ninth floor”" in gap["question"]
    assert told.stdout.startswith("no longer holds")
    assert f"gone   {new[-8:]}  The office is on the ninth floor" in told.stdout
    assert f"before {old[-8:]}  The office is on the third floor" in told.stdout
    assert answer(engram_command, "gaps") == []


def test_a_look_at_the_knowledge_is_told_in_lines(engram_command: Command) -> None:
    """What was found, by the short ids that other commands take."""
    engram_command("remember", "The lift is broken")
    memory = answer(engram_command, "list")[0]["id"]
    engram_command("set-status", memory, "challenged", "--reason", "somebody doubts it")

    told = engram_command("reflect").stdout

    assert told.startswith("1 memory, 100% of them never recalled\n")
    assert f"disputed (1)\n  [{memory[-8:]}] “The lift is broken”" in told
    assert answer(engram_command, "reflect")["counts"]["disputed"] == 1


def test_a_question_can_be_settled_without_an_answer(engram_command: Command, gap: Gap) -> None:
    """It is closed once; a second time is an error."""
    closed = engram_command("close-gap", gap.id, "--reason", "nobody needs to know")
    again = engram_command("close-gap", gap.id)

    assert closed.stdout.startswith(f"closed {gap.id}")
    assert again.exit_code == 2


def test_confidence_says_what_it_rests_on(engram_command: Command) -> None:
    """A question about what was stored is covered better than one about anything else."""
    engram_command("remember", "Ada's birthday is on 10 December")

    known = answer(engram_command, "confidence", "when is Ada's birthday?")
    unknown = answer(engram_command, "confidence", "who sells submarine engines?")

    assert known["supporting"] >= 1
    assert unknown["certainty"] == "unknown"
    assert engram_command("confidence", "who sells submarine engines?").stdout.startswith("unknown: ")


def test_domains_and_summaries_come_from_dreams(engram_command: Command) -> None:
    """Before the first dream a line says so; afterwards they are there."""
    for told in (
        "is deployed on Fridays",
        "stores orders in PostgreSQL",
        "was begun by Grace",
        "has two servers",
    ):
        engram_command("remember", f"Falcon {told}")

    before = engram_command("domains")
    engram_command("dream")

    assert "`engram dream` finds them" in before.stderr
    assert [domain["members"] for domain in answer(engram_command, "domains")] == [4]
    assert "Falcon" in engram_command("summaries", "deployment", "--breadth", "global").stdout
    assert "changes" in engram_command("dreams", "--limit", "1").stdout


def test_a_mind_is_shown_kept_and_brought_back(engram_command: Command, home: Path) -> None:
    """Every agent has its own, and the command that suspends it names the one that resumes it."""
    with (
        Engram.open(settings=Settings(home=home), background=False, scope=CODER) as engram,
        engram.turn("We deploy on Fridays", session="s1") as turn,
    ):
        turn.reply("Understood.")
        turn.note("The deployment waits for approval")

    shown = engram_command("working-memory", "--agent", "coder")
    kept = engram_command("suspend", "--agent", "coder")
    back = answer(engram_command, "resume", "--agent", "coder")
    other = engram_command("working-memory", "--agent", "cook")

    assert "waits for approval" in shown.stdout
    assert "engram resume" in kept.stderr
    assert back["restored"] == "full"
    assert any("approval" in item["content"] for item in back["items"])
    assert "approval" not in other.stdout


def test_the_audit_holds_no_words_of_a_memory(engram_command: Command) -> None:
    """Who, what and when, newest first."""
    memory = answer(engram_command, "remember", "The codeword is zanzibarium")
    engram_command("forget", memory["id"])

    shown = engram_command("audit")
    latest = answer(engram_command, "audit", "--limit", "1")

    assert "zanzibarium" not in shown.stdout
    assert [event["action"] for event in latest] == ["forget"]
    assert latest[0]["target"] == memory["id"]


def test_turns_are_shown_and_a_session_is_ended(engram_command: Command) -> None:
    """As they were said, oldest first; a short session has no summary, and a line says so."""
    engram_command("observe", "I live in Ghent", "--session", "s1", "--speaker", "Ada")

    shown = engram_command("turns", "--session", "s1")
    ended = engram_command("end-session", "s1")

    assert "Ada: I live in Ghent" in shown.stdout
    assert ended.exit_code == 0
    assert "too short" in ended.stderr


def test_a_status_is_set_by_hand_with_a_reason(engram_command: Command) -> None:
    """What was forgotten comes back only with one."""
    memory = answer(engram_command, "remember", "I like tea")
    engram_command("forget", memory["id"])

    without = engram_command("set-status", memory["id"], "active")
    with_one = engram_command("set-status", memory["id"], "active", "--reason", "I do after all")

    assert without.exit_code == 2
    assert with_one.stdout.startswith("active ")


def test_rebuilding_changes_no_answer(engram_command: Command) -> None:
    """The indexes are derived: made anew they say the same."""
    engram_command("remember", "Helix is my editor")
    before = answer(engram_command, "recall", "which editor?")["hits"][0]["memory"]["id"]

    done = answer(engram_command, "rebuild")

    assert done == {"memories": 1}
    assert answer(engram_command, "recall", "which editor?")["hits"][0]["memory"]["id"] == before


def test_what_came_in_bulk_is_enriched_on_request(engram_command: Command, home: Path) -> None:
    """A store that was filled without a server has its vectors and its people afterwards."""
    with Engram.open(settings=Settings(home=home), embedder=TinyEmbedder(), background=False) as engram:
        engram.remember_many(Draft(content=statement(number)) for number in range(256))

    done = answer(engram_command, "enrich")

    assert done == {"embedded": 256, "enriched": 256, "judged": 0, "superseded": 0, "merged": 0}
    assert answer(engram_command, "enrich") == dict.fromkeys(done, 0)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_every_shell_gets_its_script(engram_command: Command, shell: str) -> None:
    """The script calls this command, and nothing was installed anywhere."""
    result = engram_command("completion", shell)

    assert result.exit_code == 0, result.stderr
    assert "_ENGRAM_COMPLETE" in result.stdout
    assert engram_command("completion", "tcsh").exit_code == 2
