"""What kind of answer a question wants, guessed from its words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engramdb.recall import intent as intent_cues
from engramdb.recall.intent import (
    HEAD_CHARACTERS,
    NAME,
    TIME,
    WEIGHTS,
    Intent,
    classify,
    is_code,
    masked,
    words_of,
)
from engramdb.text.lexicons import registry
from engramdb.values.query import MAX_QUERY_CHARACTERS
from evals.queries.intents import cases

PLAIN = {
    "what's the API key for Stripe?": Intent.LOOKUP,
    "What do I know about deployment?": Intent.EXPLORATORY,
    "How does our React setup differ from Vue?": Intent.COMPARATIVE,
    "What happened last week?": Intent.TEMPORAL,
    "How do I deploy to fly.io?": Intent.PROCEDURAL,
    "Why did the auth refactor break?": Intent.CAUSAL,
    "tell me about Project Alpha": Intent.ENTITY,
}
MIXED = {
    "when did I first learn how to deploy?": Intent.TEMPORAL,
    "why did we choose Postgres over MySQL last May?": Intent.CAUSAL,
    "which is cheaper, the train on Friday or the bus?": Intent.COMPARATIVE,
    "how did we fix the flaky test last time?": Intent.PROCEDURAL,
    "how long does the build take?": Intent.LOOKUP,
    "how long have I lived here?": Intent.TEMPORAL,
    "how do I know Priya?": Intent.ENTITY,
    "who is Anna's manager?": Intent.LOOKUP,
}
OTHER_LANGUAGES = {
    "Warum ist der Server ausgefallen?": Intent.CAUSAL,
    "Wer ist Frau Albrecht?": Intent.ENTITY,
    "Comment changer le mot de passe ?": Intent.PROCEDURAL,
    "¿Cuándo nos mudamos?": Intent.TEMPORAL,
    "cuando nos mudamos": Intent.TEMPORAL,
    "Чем отличается старый тариф от нового?": Intent.COMPARATIVE,
    "为什么我们放弃了那个项目？": Intent.CAUSAL,
    "昨日は何をしましたか？": Intent.TEMPORAL,
}
MARKS = ["^", "^^", "$", "TIME", "NAME", "CODE", "QUOTE", "CLOCK"]


@pytest.mark.parametrize(("question", "intent"), PLAIN.items())
def test_every_intent_is_known_by_a_plain_question(question: str, intent: Intent) -> None:
    """The example of each intent is recognised, however it is capitalised."""
    assert classify(question).intent is intent
    assert classify(question[0].upper() + question[1:]).intent is intent


@pytest.mark.parametrize(("question", "intent"), MIXED.items())
def test_the_question_asked_beats_the_words_mentioned(question: str, intent: Intent) -> None:
    """A time in a why-question, or a how-to in a when-question, does not change what is asked."""
    assert classify(question).intent is intent


@pytest.mark.parametrize(("question", "intent"), OTHER_LANGUAGES.items())
def test_questions_are_understood_in_other_languages(question: str, intent: Intent) -> None:
    """German, French, Spanish (with and without accents), Russian, Chinese and Japanese have cues too."""
    assert classify(question).intent is intent


@pytest.mark.parametrize("order", ["ok, now deploy it", "please whip up a draft", "run the migrations"])
def test_an_order_asks_how_it_was_done_before(order: str) -> None:
    """What an agent is told to do finds procedures, though nothing is asked."""
    assert classify(order).intent is Intent.PROCEDURAL


def test_a_named_thing_is_an_entity_and_a_subject_is_explored() -> None:
    """The same words ask for a profile or for a broad search, by what they are about."""
    about_someone = classify("what do we know about Leila Haddad?")
    about_kin = classify("what do we know about my sister?")
    about_something = classify("what do we know about caching?")

    assert about_someone.intent is about_kin.intent is Intent.ENTITY
    assert about_something.intent is Intent.EXPLORATORY


def test_politeness_does_not_hide_the_question() -> None:
    """What is said before the question adds nothing and takes nothing away."""
    plain = classify("why did Lisa leave?")
    polite = classify("Ok, so can you please tell me why did Lisa leave?")

    assert polite.intent is plain.intent
    assert polite.scores == plain.scores


def test_without_a_cue_it_is_a_doubtful_lookup() -> None:
    """Nothing to go by is a lookup that nobody should rely on; a plain question is sure."""
    nothing = classify("blue horizon seven")
    plain = classify("why did the server go down?")

    assert nothing.intent is Intent.LOOKUP
    assert nothing.confidence < 0.3
    assert plain.confidence > 0.7


def test_a_long_paste_is_read_at_both_ends() -> None:
    """The question around a pasted log counts; what the log says in the middle does not."""
    log = "compare the difference between versions. " * 60
    first = classify(f"why did this happen?\n{'x ' * HEAD_CHARACTERS}\n{log}\n{'x ' * HEAD_CHARACTERS}")
    last = classify(f"{'x ' * HEAD_CHARACTERS}\n{log}\n{'x ' * HEAD_CHARACTERS}\nwhy did this happen?")

    assert first.intent is last.intent is Intent.CAUSAL


@given(st.text(max_size=400) | st.text("ok or^$ \ue000\ue001?,'’", max_size=400))
def test_any_text_has_an_intent(text: str) -> None:
    """No text is refused; every intent has a score, the best of them is taken, and confidence is a share."""
    found = classify(text)

    assert set(found.scores) == set(Intent)
    assert found.scores[found.intent] == max(found.scores.values())
    assert 0 < found.confidence <= 1
    assert classify(text) == found


@pytest.mark.parametrize(
    "piece", ["which is ", "should we ", "Anna ", "a_b ", "\ue001", '"', "为什么", "last "]
)
def test_work_does_not_grow_with_the_query(piece: str) -> None:
    """The longest query allowed comes down to as few words as a short one: no text makes it slow."""
    longest = (piece * MAX_QUERY_CHARACTERS)[:MAX_QUERY_CHARACTERS]

    words = words_of(masked(longest))

    assert len(words) <= HEAD_CHARACTERS
    assert classify(longest).confidence > 0


def test_names_and_times_become_marks() -> None:
    """Whoever and whenever is meant, the cue is the same."""
    assert words_of(masked("Who did Anna meet last week?")) == ["who", "did", NAME, "meet", TIME, "^"]


@pytest.mark.parametrize(
    "word", ["MAX_RETRIES", "parse()", "src/auth/session.py", "UserRepository", "std::map"]
)
def test_identifiers_are_known_from_words(word: str) -> None:
    """Names from code are told from words by their shape."""
    assert is_code(word)


@pytest.mark.parametrize(
    "word", ["hello", "and/or", "Anna's", "3.14", "end.", "me@example.org", "café", "(so)", ""]
)
def test_words_are_not_identifiers(word: str) -> None:
    """Words with punctuation, numbers and addresses are no identifiers."""
    assert not is_code(word)


def test_every_listed_cue_can_be_met() -> None:
    """A cue that is written as no query is ever cut would be dead: each spelling survives the cutting."""
    for run, listed in intent_cues.cues().runs.items():
        for words in (run, *(later for cue in listed for later in cue.then)):
            plain = [word for word in words if word not in MARKS]
            assert words
            assert words_of(" ".join(plain)) == plain


def test_every_list_has_a_weight_and_an_intent() -> None:
    """The file speaks only of intents and strengths that the code knows."""
    listed = registry("intents")
    lists = {name: table for name, table in listed.items() if name not in ("lead", "subject", "grammar")}

    assert set(lists) == {*Intent, "about"}
    for table in lists.values():
        assert set(table) - {"unspaced"} <= set(WEIGHTS)
        assert set(table.get("unspaced", {})) <= set(WEIGHTS)


def test_the_labelled_sets_stay_apart() -> None:
    """No question stands in two sets, every label is an intent, and the first set is as large as promised."""
    names = ("tune", "held out", "second voice", "third voice", "fourth voice", "afterwards")
    every = [case for name in names for case in cases(name)]

    assert len({case["text"] for case in every}) == len(every)
    assert {case["intent"] for case in every} == set(Intent)
    assert len(cases("tune")) + len(cases("held out")) >= 300
    assert len(cases("afterwards")) >= 60
