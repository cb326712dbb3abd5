"""Choosing a chat model, asking it for a typed value, and counting what that costs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from engramdb.errors import ChatError, ChatReplyInvalid, ChatUnavailable, InvalidSettings, UnknownModel
from engramdb.models.anthropic import SERVICE_URL
from engramdb.models.chat import BadReply, CallLog, ChatPrompt, ChatQuestion, ChatReply, Usage, ask
from engramdb.models.registry import open_chat
from engramdb.testing import ScriptedChat

KEY = "sk-very-secret"
PROMPT = ChatPrompt(system="You name colours.", user="Which colour is the door?")


def read_colour(text: str) -> str:
    """Read the reply to the question of these tests."""
    if text not in ("red", "blue"):
        raise BadReply("it is no colour")
    return text


QUESTION = ChatQuestion(purpose="colour", version=3, prompt=PROMPT, parse=read_colour)


def test_a_model_is_chosen_by_interface_and_name() -> None:
    """`openai:` and `anthropic:` say how to ask; the rest is the model's name, colons included."""
    local = open_chat("openai:llama3.2:3b", url="http://localhost:11434/v1")
    service = open_chat("anthropic:claude-opus-4-6", key=KEY)

    assert (local.name, service.name) == ("openai:llama3.2:3b", "anthropic:claude-opus-4-6")
    assert SERVICE_URL in repr(service)


@pytest.mark.parametrize("choice", ["", "llama", "openai:", "openai: ", "ollama:llama3", ":x"])
def test_an_unknown_choice_is_named(choice: str) -> None:
    """A choice that cannot be understood is an error that shows it."""
    with pytest.raises(UnknownModel, match="no chat model"):
        open_chat(choice, url="http://localhost")


def test_what_people_said_is_not_sent_to_a_service_by_omission() -> None:
    """An `openai:` model without an address is refused, rather than looked for on the internet."""
    with pytest.raises(InvalidSettings, match="address"):
        open_chat("openai:llama3.2", key=KEY)
    with pytest.raises(InvalidSettings, match="key"):
        open_chat("anthropic:claude")
    with pytest.raises(InvalidSettings, match="above 0"):
        open_chat("openai:m", url="http://localhost", timeout_seconds=0)


def test_calls_are_counted_by_purpose() -> None:
    """Tokens, time and failures add up per purpose and altogether."""
    log = CallLog()
    chat = ScriptedChat(
        [
            ChatReply(text="red", input_tokens=10, output_tokens=2, milliseconds=5.0),
            ChatReply(text="red", input_tokens=20, output_tokens=3, milliseconds=6.0),
            ChatUnavailable("the server sleeps", hint=""),
        ]
    )
    other = ChatQuestion(purpose="other", version=1, prompt=PROMPT, parse=read_colour)

    ask(chat, QUESTION, log=log)
    ask(chat, other, log=log)
    with pytest.raises(ChatUnavailable):
        ask(chat, other, log=log)

    assert log.by_purpose()["colour"] == Usage(calls=1, input_tokens=10, output_tokens=2, milliseconds=5.0)
    assert (log.by_purpose()["other"].calls, log.by_purpose()["other"].failures) == (2, 1)
    assert (log.total().calls, log.total().input_tokens, log.total().output_tokens) == (3, 30, 5)
    assert log.total().last_error == "E6001 the server sleeps"


def test_the_last_error_is_the_one_that_came_last() -> None:
    """It does not depend on the order of the purposes."""
    log = CallLog()
    log.note("b", Usage(last_error="first"))
    log.note("a", Usage(last_error="second"))
    log.note("b", Usage(last_error="third"))
    log.note("a", Usage(calls=1))

    assert log.total().last_error == "third"
    assert log.by_purpose()["a"].last_error == "second"


def test_counting_is_exact_under_many_threads() -> None:
    """No call is lost between threads."""
    log = CallLog()
    chat = ScriptedChat(lambda _: "red")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: ask(chat, QUESTION, log=log), range(400)))

    assert log.total().calls == 400


def test_a_question_may_have_one_attempt_only() -> None:
    """Where a second reply is not worth its price, none is asked for."""
    once = ChatQuestion(purpose="colour", version=1, prompt=PROMPT, parse=read_colour, attempts=1)
    chat = ScriptedChat(["no"])

    with pytest.raises(ChatReplyInvalid):
        ask(chat, once, log=CallLog())

    assert len(chat.prompts) == 1


def test_a_server_that_fails_on_the_second_attempt_is_unavailable() -> None:
    """Both kinds of failure are chat errors, each told as what it is."""
    with pytest.raises(ChatError) as caught:
        ask(ScriptedChat(["no", ChatUnavailable("gone")]), QUESTION, log=CallLog())

    assert isinstance(caught.value, ChatUnavailable)


def test_a_script_that_ends_too_early_is_a_mistake_of_the_test() -> None:
    """It must not look like a model that cannot be reached, which code under test would forgive."""
    with pytest.raises(AssertionError, match="number 1"):
        ScriptedChat([]).complete(PROMPT)
