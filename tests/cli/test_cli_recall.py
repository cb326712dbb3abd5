"""The commands that answer: recall explained, of the past, under filters; timeline; entity; feedback."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace
from speaking import say

from engramdb import Engram
from engramdb.cli.questions import show_recall, show_recall_explained
from engramdb.cli.store import show_status
from engramdb.engine.asked_secrets import ASKED
from engramdb.policy.recall import STRATEGIES
from engramdb.recall.gather import LEXICAL, TOPIC, VECTOR
from engramdb.recall.pipeline import ANSWERS
from engramdb.recall.relations import RELATION
from engramdb.recall.revision import DISPUTES, REPLACED
from engramdb.recall.said import TURNS
from engramdb.recall.signals import ENTITY, GRAPH, HOP, LATE, LINKED, SESSION, SUBJECT, TIME
from engramdb.testing import ManualClock
from engramdb.values import (
    Dispute,
    EdgeType,
    Filters,
    Hit,
    Level,
    Memory,
    Missing,
    Quality,
    Query,
    Reason,
    Recall,
    Trust,
)
from engramdb.verbs.verb import fields_of
from engramdb.verbs.wording import WORDINGS

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result
    from surfaces.fixtures import Command

BEFORE, AFTER = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 3, 1, tzinfo=UTC)


def parsed(result: Result) -> Any:
    """Return the JSON document that a command printed."""
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def contents(result: Result) -> list[str]:
    """Return what the hits of a recall say, best first."""
    return [hit["memory"]["content"] for hit in parsed(result)["hits"]]


@pytest.fixture
def changed(home: Path) -> str:
    """The id of a statement of January that was corrected in March, and confirmed since."""
    home.mkdir()
    clock = ManualClock(BEFORE)
    with Engram.open(home / "memory.db", clock=clock, background=False) as engram:
        old = engram.remember("My editor is vim", category="preference")
        clock.set(AFTER)
        new = engram.correct(old.id, "My editor is Helix", reason="switched")
        clock.advance(days=1)
        engram.remember("My editor is Helix")
        return new.id


def test_a_hit_is_what_it_says_and_why_it_is_here(engram_command: Command) -> None:
    """Score, short id and content on one line; when, what it is and what found it on the next."""
    memory = parsed(engram_command("remember", "Helix is my editor", "--speaker", "Ada", "--json"))

    said, why = engram_command("recall", "which editor?").stdout.splitlines()

    assert re.fullmatch(rf"\d\.\d\d  {memory['id'][-8:]}  Ada: Helix is my editor", said)
    assert re.fullmatch(r" {16}\S+ \S+Z · Ada · fact · found by \w+, \w+ · trust \d\.\d\d", why)
    assert {"words", "meaning"} <= set(re.findall(r"\w+", why))


def test_explain_shows_the_plan_every_signal_and_the_slowest_stage(engram_command: Command) -> None:
    """One can see what the question was taken for, what each signal gave, and where the time went."""
    engram_command("remember", "Helix is my editor", "--occurred-at", "2023-06-27")

    shown = engram_command("recall", "which editor in June 2023?", "--explain").stdout

    for signal in ("lexical", "vector", "time"):
        assert re.search(rf"^ {{16}}{signal} +1  \d\.\d{{3}}  [+]\d\.\d{{3}}$", shown, re.MULTILINE)
    for part in ("relevance", "accuracy", "freshness", "utility"):
        assert f"{part} " in shown
    assert re.search(r"^period +from 2023-06-01 00:00Z to before 2023-07-01 00:00Z$", shown, re.MULTILINE)
    assert re.search(r"^text weight +0\.35 for words, 0\.65 for meaning$", shown, re.MULTILINE)
    assert re.search(r"^strategy +score$", shown, re.MULTILINE)
    assert re.search(r"^level +full$", shown, re.MULTILINE)
    assert re.search(r"^missing +nothing$", shown, re.MULTILINE)
    assert len(re.findall(r"\d+\.\d\d  slowest$", shown, re.MULTILINE)) == 1


def test_explain_shows_the_intent_where_the_policy_looks_at_it(
    engram_command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under `cortex` the kind of question is named; under the usual policy it says that nobody looked."""
    engram_command("remember", "Helix is my editor")

    usual = engram_command("recall", "how do I set up my editor?", "--explain").stdout
    monkeypatch.setenv("ENGRAM_POLICY", "cortex")
    cortex = engram_command("recall", "how do I set up my editor?", "--explain").stdout

    assert re.search(r"^intent +not looked at", usual, re.MULTILINE)
    assert re.search(r"^intent +procedural$", cortex, re.MULTILINE)
    assert re.search(r"^strategy +rrf_then_mmr$", cortex, re.MULTILINE)


def test_explain_shows_what_was_left_out(engram_command: Command) -> None:
    """The candidates behind the last hit stand below it, with what spoke for them."""
    engram_command("remember", "Helix is my editor")
    engram_command("remember", "Vim was my editor once")

    shown = engram_command("recall", "which editor?", "--limit", "1", "--explain").stdout
    plain = engram_command("recall", "which editor?", "--limit", "1").stdout

    hits, _, left_out = shown.partition("\nleft out\n")
    assert ("Helix" in hits) is not ("Vim" in hits)
    assert ("Helix" in left_out) is ("Vim" in hits)
    assert re.search(r"lexical #\d [+]\d\.\d{3}", left_out)
    assert ("Helix" in plain) is not ("Vim" in plain)


def explained(quality: Quality, *hits: Hit) -> Recall:
    """Return an answer of this quality."""
    return Recall(query=Query(text="x"), hits=hits, quality=quality)


def test_a_degraded_answer_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    """Level, what is missing and why, an open period, no stage: nothing is taken for granted."""
    quality = Quality(
        level=Level.TEXT_ONLY,
        missing=(Missing(index="vector", reason="the model is\nasleep"),),
        period=(None, AFTER),
    )

    show_recall_explained(explained(quality))

    shown = capsys.readouterr().out
    assert re.search(r"^level +text only$", shown, re.MULTILINE)
    assert re.search(r"^missing +vector: the model is asleep$", shown, re.MULTILINE)
    assert re.search(r"^period +to before 2026-03-01 00:00Z$", shown, re.MULTILINE)
    assert "slowest" not in shown


def test_an_event_without_a_date_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """A question since the release asks for a time, even where nobody knows when that was."""
    show_recall_explained(explained(Quality(period=(None, None))))

    assert "an event whose date is not known" in capsys.readouterr().out


def test_every_signal_has_words_for_people() -> None:
    """What the engine calls `lexical` a visitor knows as words."""
    names = {LEXICAL, TOPIC, VECTOR, SESSION, SUBJECT, TIME, GRAPH, LINKED, ENTITY, TURNS}
    names |= {LATE, RELATION, HOP, ANSWERS, REPLACED, DISPUTES, ASKED}

    assert names == set(WORDINGS)


def test_a_new_signal_is_shown_under_its_own_name(capsys: pytest.CaptureFixture[str]) -> None:
    """The command line does not wait for somebody to find words for it."""
    trust = Trust(relevance=1, accuracy=1, freshness=1, utility=1, composite=1)
    memory = Memory(
        id="01a1de75-2da5-7000-8203-10b3b3de2d24", content="x", created_at=AFTER, updated_at=AFTER
    )
    hit = Hit(
        memory=memory,
        score=1,
        trust=trust,
        reasons=(Reason(index="telepathy", rank=1, score=1, contribution=1),),
    )

    show_recall_explained(explained(Quality(), hit))

    assert "telepathy" in capsys.readouterr().out


def test_the_past_answers_as_it_was(engram_command: Command, changed: str) -> None:
    """`--as-of` gives what was believed then, says so, and does not count as a recall."""
    before = engram_command("recall", "which editor?", "--as-of", "2026-02-01", "--json")
    now = engram_command("recall", "which editor?", "--json")
    early = engram_command("recall", "which editor?", "--as-of", "2025-02-01")

    assert contents(before) == ["My editor is vim"]
    assert "believed at 2026-02-01 00:00Z" in before.stderr
    assert contents(now) == ["My editor is Helix"]
    assert "believed" not in now.stderr
    assert early.stdout == ""
    assert "Not known" in early.stderr
    assert parsed(engram_command("get", changed, "--json"))["access"]["count"] == 1


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_can_be_asked_for(engram_command: Command, strategy: str) -> None:
    """The help names it, the answer says that it was followed, and one that could not be says so."""
    engram_command("remember", "Helix is my editor")

    result = engram_command("recall", "editor", "--strategy", strategy, "--json")

    assert parsed(result)["quality"]["strategy"] == strategy
    assert ("reranker did not take part" in result.stderr) is (strategy == "cross_encoder")
    assert strategy in engram_command("recall", "--help").stdout


def test_a_strategy_that_is_none_is_refused(engram_command: Command) -> None:
    """A misspelt word is not taken for the usual order."""
    engram_command("init")

    result = engram_command("recall", "editor", "--strategy", "mrr")

    assert result.exit_code == 2
    assert "E2004" in result.stderr


def test_a_recall_belongs_to_its_session(engram_command: Command) -> None:
    """Two conversations that recall a memory are two sessions in its log."""
    memory_id = parsed(engram_command("remember", "Helix is my editor", "--json"))["id"]

    for session in ("s1", "s2", "s2"):
        engram_command("recall", "editor", "--session", session)

    access = parsed(engram_command("get", memory_id, "--json"))["access"]
    assert (access["count"], access["sessions"]) == (3, 2)


@pytest.mark.parametrize(
    "options",
    [
        ("--layer", "semantic"),
        ("--type", "procedure"),
        ("--kind", "episode"),
        ("--category", "decision"),
        ("--since", "2026-05-01"),
        ("--entity", "Kubernetes"),
        ("--technology", "kubernetes"),
        ("--path", "deploy"),
        ("--language", "python"),
        ("--sentiment", "positive"),
        ("--speaker", "Ada"),
        ("--from-session", "s1"),
    ],
)
@pytest.mark.parametrize("verb", [("recall", "the deployment"), ("list",)])
def test_answers_and_lists_are_narrowed(
    engram_command: Command, verb: tuple[str, ...], options: tuple[str, str]
) -> None:
    """Each filter lets the one through that fits it and nothing else."""
    wanted = "I love that deploy/run.py of Ada starts the deployment on Kubernetes"
    engram_command(
        *("remember", wanted, "--layer", "semantic", "--type", "procedure", "--kind", "episode"),
        *("--category", "decision", "--occurred-at", "2026-06-01", "--speaker", "Ada", "--session", "s1"),
    )
    engram_command("remember", "maybe the deployment is on Thursdays", "--occurred-at", "2026-02-01")

    found = parsed(engram_command(*verb, *options, "--json"))

    memories = found if verb == ("list",) else [hit["memory"] for hit in found["hits"]]
    assert [memory["content"] for memory in memories] == [wanted]


def test_every_filter_of_the_library_has_an_option(engram_command: Command) -> None:
    """A part that is added to the filters is an option of every command that narrows."""
    options = {one.flat_name("cli") for one in fields_of(Filters)}

    told = engram_command("recall", "--help").stdout

    assert len(options) == len(Filters.__struct_fields__)
    assert [name for name in options if f"--{name.replace('_', '-')} " not in told] == []


@pytest.mark.parametrize(
    ("mode", "types"),
    [
        ("facts_only", {"fact"}),
        ("facts_plus_rules", {"fact", "procedure"}),
        ("full_context", {"fact", "procedure", "narrative"}),
    ],
)
def test_a_mode_says_how_much_may_be_given(engram_command: Command, mode: str, types: set[str]) -> None:
    """Facts alone, facts and rules, or everything, which is also the usual."""
    for kind in ("fact", "procedure", "narrative"):
        engram_command("remember", f"the deployment as a {kind}", "--type", kind)

    found = parsed(engram_command("recall", "the deployment", "--mode", mode, "--json"))

    assert {hit["memory"]["type"] for hit in found["hits"]} == types
    assert len(contents(engram_command("recall", "the deployment", "--json"))) == 3


def test_a_mode_and_a_type_that_exclude_each_other_are_refused(engram_command: Command) -> None:
    """An empty answer would look as if nothing were known."""
    engram_command("init")

    result = engram_command("recall", "x", "--mode", "facts_only", "--type", "procedure")

    assert result.exit_code == 2
    assert "E2004" in result.stderr


def test_an_entity_is_shown_with_all_that_is_known(engram_command: Command) -> None:
    """Its memories by layer, what they say, its company, its months, and who else is called so."""
    engram_command("remember", "Priya Raman visited Project Harvest", "--occurred-at", "2026-01-05")
    engram_command("remember", "Priya Raman lives in Leeds", "--layer", "semantic")
    engram_command("remember", "Priya Sharma skis")

    shown = engram_command("entity", "Priya").stdout

    assert shown.startswith("Priya Raman  person, id ")
    for title in ("episodic", "semantic", "relations", "together with", "by month", "others of that name"):
        assert f"\n\n{title}\n" in shown
    assert re.search(r"^\S{8} +Priya Raman +lives_in +Leeds$", shown, re.MULTILINE)
    assert re.search(r"^ +1  Project Harvest$", shown, re.MULTILINE)
    assert re.search(r"^ +1  2026-01$", shown, re.MULTILINE)
    assert re.search(r"^(\S{36})  person  Priya Sharma$", shown, re.MULTILINE)


def test_a_namesake_is_asked_for_by_its_id(engram_command: Command) -> None:
    """What is shown beside one of them leads to the other, also as JSON."""
    engram_command("remember", "Priya Raman leads Project Harvest")
    engram_command("remember", "Priya Raman lives in Leeds")
    engram_command("remember", "Priya Sharma skis")

    (other,) = parsed(engram_command("entity", "Priya", "--json"))["namesakes"]
    found = parsed(engram_command("entity", other["id"], "--json"))

    assert found["entity"]["name"] == "Priya Sharma"
    assert [memory["content"] for memory in found["memories"]["semantic"]] == ["Priya Sharma skis"]


def test_an_entity_of_another_scope_is_not_there(engram_command: Command) -> None:
    """Nobody learns that somebody else knows of it."""
    engram_command("remember", "Priya Raman lives in Leeds", "--user", "ada")

    assert engram_command("entity", "Priya Raman", "--user", "ada").exit_code == 0
    other = engram_command("entity", "Priya Raman", "--user", "bob")
    assert (other.exit_code, other.stdout) == (3, "")
    assert "E5005" in other.stderr


def test_a_timeline_tells_how_knowledge_came_to_be(engram_command: Command, changed: str) -> None:
    """Oldest first: what was added, what took its place and why, what was said again, and when most was."""
    shown = engram_command("timeline", "my editor").stdout

    added, corrected, replaced, reason, again, _said_again, _, busiest = shown.splitlines()
    assert re.fullmatch(r"2026-01-01 00:00Z  addition +\S{8}  My editor is vim", added)
    assert re.fullmatch(rf"2026-03-01 00:00Z  correction +{changed[-8:]}  My editor is Helix", corrected)
    held = r"\(true 2026-01-01 00:00Z to 2026-03-01 00:00Z\)"
    assert re.fullmatch(rf" {{44}}in place of \S{{8}}  My editor is vim {held}", replaced)
    assert reason.strip() == "reason: switched"
    assert again.startswith("2026-03-02 00:00Z  reinforcement")
    assert corrected.index("My editor") == again.index("My editor") == 44
    assert busiest.startswith("busiest  week of 2026-03-02 (1 change), ")


def test_a_timeline_is_the_library_s_own_value(engram_command: Command, changed: str) -> None:
    """As JSON it has topic, entries and busiest periods, and keeps to its scope."""
    found = parsed(engram_command("timeline", "my editor", "--json"))
    engram_command("remember", "Ada's editor is Emacs", "--user", "ada")
    others = engram_command("timeline", "editor", "--user", "bob").stdout

    assert set(found) == {"topic", "entries", "busiest"}
    assert [entry["change"] for entry in found["entries"]] == ["addition", "correction", "reinforcement"]
    assert "Emacs" not in others


def test_an_unknown_topic_has_no_timeline(engram_command: Command) -> None:
    """Nothing on stdout, a sentence on stderr, and no failure."""
    engram_command("init")

    result = engram_command("timeline", "anything")

    assert (result.exit_code, result.stdout) == (0, "")
    assert "Nothing is known" in result.stderr


def test_what_did_not_help_is_not_given_to_that_question_again(engram_command: Command) -> None:
    """Told with the question, it is left out of such answers and of no others; `get` shows the feedback."""
    memory_id = parsed(engram_command("remember", "Helix is my editor", "--json"))["id"]

    told = engram_command("feedback", memory_id[-8:], "--unhelpful", "--query", "which editor?")

    assert told.stdout == f"did not help once: {memory_id[-8:]}  Helix is my editor\n"
    assert "for 90 days" in told.stderr
    assert contents(engram_command("recall", "which editor?", "--json")) == []
    assert contents(engram_command("recall", "what is Helix?", "--json")) == ["Helix is my editor"]
    assert re.search(r"^feedback +did not help once$", engram_command("get", memory_id).stdout, re.MULTILINE)


def test_what_helped_is_counted(engram_command: Command) -> None:
    """Twice helpful, once not: all of it is kept, and the question is not needed."""
    memory_id = parsed(engram_command("remember", "Helix is my editor", "--json"))["id"]

    engram_command("feedback", memory_id, "--helpful")
    engram_command("feedback", memory_id, "--helpful", "--query", "which editor?")
    told = engram_command("feedback", memory_id, "--unhelpful", "--json")

    assert (parsed(told)["helped"], parsed(told)["unhelpful"]) == (2, 1)
    assert told.stderr == ""
    assert "helped 2 times, did not help once" in engram_command("get", memory_id).stdout
    assert contents(engram_command("recall", "which editor?", "--json")) == ["Helix is my editor"]


def test_feedback_says_one_of_two_things(engram_command: Command) -> None:
    """Silence is neither, and a memory of another scope is not there."""
    memory_id = parsed(engram_command("remember", "Ada prefers tea", "--user", "ada", "--json"))["id"]

    silent = engram_command("feedback", memory_id, "--user", "ada")
    other = engram_command("feedback", memory_id, "--helpful", "--user", "bob")

    assert silent.exit_code == 2
    assert "--helpful or --unhelpful" in silent.stderr
    assert other.exit_code == 3


def test_get_shows_confirmations_and_what_filters_look_at(engram_command: Command, changed: str) -> None:
    """When evidence last came in, how often, and the traits that a filter can ask for."""
    shown = engram_command("get", changed).stdout

    assert re.search(r"^confirmed +2026-03-02 00:00Z$", shown, re.MULTILINE)
    assert re.search(r"^repeated +once$", shown, re.MULTILINE)
    assert re.search(r"^technologies +Helix$", shown, re.MULTILINE)


def test_status_tells_how_good_the_answers_were(
    engram_command: Command, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A process that answered shows its averages; a command that has just begun has none to show."""
    engram_command("remember", "Helix is my editor")

    fresh = engram_command("status").stdout
    with Engram.open(home / "memory.db", background=False) as engram:
        engram.recall("which editor?")
        show_status(engram.status())

    assert "recalls" not in fresh
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("recalls"))
    assert re.search(r"1 in this process; relevancy 0\.\d\d, NDCG 1\.00; \d+\.\d ms", line)
    assert "0 poor in a row" in line


def test_an_answer_that_is_none_says_so(engram_command: Command) -> None:
    """The nearest of what does not fit is no answer, and may be left out; what fits needs no warning."""
    for text in ("The API uses JWT tokens", "Releases are on Thursdays", "The night train leaves at ten"):
        engram_command("remember", text)

    far = engram_command("recall", "where is my passport?")
    none = engram_command("recall", "where is my passport?", "--abstain", "--no-turns")
    near = engram_command("recall", "which tokens does the API use?")

    assert "Not known" in far.stderr
    assert "Not known: nothing that is stored answers this" in none.stderr
    assert "Not known" not in near.stderr


def test_what_was_only_said_is_shown_as_such(home: Path, engram_command: Command) -> None:
    """Marked on its second line, told apart on stderr, with the turn in JSON; and it can be left out."""
    home.mkdir()
    with Engram.open(home / "memory.db", background=False) as engram:
        turn = say(engram, "The spare key is under the blue flowerpot.", speaker="Ada")
        with engram._parts.store.atomic() as tx:
            tx.turns.settle([turn.id], now=turn.created_at)

    shown = engram_command("recall", "where is the spare key?")
    explained = engram_command("recall", "where is the spare key?", "--explain")
    (said,) = parsed(engram_command("recall", "where is the spare key?", "--json"))["said"]
    left_out = engram_command("recall", "where is the spare key?", "--no-turns")

    first, second = shown.stdout.splitlines()
    assert first.endswith(f"{turn.id[-8:]}  The spare key is under the blue flowerpot.")
    assert re.fullmatch(r" +said, not kept as a memory · .* · Ada · trust 0\.\d\d", second)
    assert shown.stderr == "No memory was found; this was only said.\n"
    assert "said, not kept as a memory" in explained.stdout
    assert (said["turn_id"], said["speaker"]) == (turn.id, "Ada")
    assert (left_out.stdout, left_out.stderr) == ("", "Nothing was found.\n")
    assert "1 (1 read that left no memory)" in engram_command("status").stdout


@pytest.mark.parametrize(
    ("dispute", "told"),
    [
        (Dispute(by="0" * 28 + "abcd1234", kind=EdgeType.CONTRADICTS), "contradicted by abcd1234"),
        (Dispute(by="0" * 28 + "abcd1234", kind=EdgeType.DOUBTS), "doubtful since abcd1234"),
        (Dispute(), "possibly outdated"),
    ],
)
def test_what_is_disputed_is_shown_with_how_to_settle_it(
    capsys: pytest.CaptureFixture[str], dispute: Dispute, told: str
) -> None:
    """What speaks against it, if anything does, and the question to answer."""
    memory = Memory(id="m", content="Anna works at Siemens", created_at=BEFORE, updated_at=BEFORE)
    asked = replace(dispute, question_id="gap-0123456789ab")
    trust = Trust(relevance=1, accuracy=1, freshness=1, utility=1, composite=1)

    show_recall(explained(Quality(), Hit(memory=memory, score=0.5, trust=trust, disputes=(asked,))))

    assert f"{told}; engram answer 456789ab settles it" in capsys.readouterr().out


def test_an_archived_best_match_is_shown_with_how_to_bring_it_back(engram_command: Command) -> None:
    """Below the hits, and in the JSON of the answer."""
    stored = parsed(engram_command("remember", "The crane was painted by Ingeborg Falk", "--json"))
    engram_command("remember", "Basalt is a volcanic rock")
    engram_command("set-status", stored["id"], "archived", "--reason", "old")

    shown = engram_command("recall", "who painted the crane?").stdout
    (match,) = parsed(engram_command("recall", "who painted the crane?", "--json"))["archived"]

    assert "archived: " in shown
    assert f"engram restore {stored['id'][-8:]} brings it back" in shown
    assert match["memory"]["id"] == stored["id"]
