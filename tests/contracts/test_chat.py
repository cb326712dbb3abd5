"""What every chat model keeps, the fake included: one suite, run on all of them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from loopback import answering

from engramdb.errors import ChatUnavailable
from engramdb.models.chat import ChatPrompt
from engramdb.models.registry import open_chat
from engramdb.testing import ScriptedChat

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engramdb.models.chat import ChatModel

FAIL = "fail"
"""A server that is told this has no answer."""

ODD_TEXTS = {
    "empty": "",
    "8 KB": "memory " * 1200,
    "emoji": "🎉👩‍👩‍👧‍👦",
    "NUL": "a\x00b",
    "line ends": "a\r\nb\u2028c",
    "quotes": 'say "hi" \\ {}',
    "right to left": "مرحبا بالعالم שלום",
    "CJK": "我喜欢猫。ありがとう 안녕",
}


@pytest.fixture(scope="session")
def echo_url() -> Iterator[str]:
    """A server on loopback that speaks like either interface and repeats what it is told."""

    def repeated(path: str, asked: Any) -> tuple[int, object]:
        said = asked["messages"][-1]["content"]
        text = f"heard: {said}"
        shapes: dict[str, Any] = {
            "/v1/chat/completions": {"choices": [{"message": {"role": "assistant", "content": text}}]},
            "/v1/messages": {"content": [{"type": "text", "text": text}]},
        }
        return (404 if said == FAIL else 200), shapes[path]

    with answering(repeated) as url:
        yield url


@pytest.fixture(params=["openai:loopback", "anthropic:loopback", "scripted"])
def chat(request: pytest.FixtureRequest) -> ChatModel:
    """Each chat model in turn, opened as the engine opens it."""
    if request.param != "scripted":
        return open_chat(request.param, url=request.getfixturevalue("echo_url"), key="k", timeout_seconds=20)

    def answer(prompt: ChatPrompt) -> str:
        if prompt.user == FAIL:
            raise ChatUnavailable("told to")
        return f"heard: {prompt.user}"

    return ScriptedChat(answer)


def test_a_prompt_gives_a_reply(chat: ChatModel) -> None:
    """The text comes back with costs that are not negative."""
    reply = chat.complete(ChatPrompt(system="Repeat.", user="tea"))

    assert reply.text == "heard: tea"
    assert min(reply.input_tokens, reply.output_tokens, reply.milliseconds) >= 0
    assert not reply.is_cut_off


def test_a_schema_is_no_obstacle(chat: ChatModel) -> None:
    """A form that is asked for and not kept is the caller's to notice."""
    prompt = ChatPrompt(system="Repeat.", user="tea", schema={"type": "object", "properties": {}})

    assert chat.complete(prompt).text == "heard: tea"


@pytest.mark.parametrize("text", ODD_TEXTS.values(), ids=ODD_TEXTS)
def test_odd_texts_arrive_as_they_are(chat: ChatModel, text: str) -> None:
    """Whatever people say reaches the model to the letter, and what it says reaches us."""
    assert chat.complete(ChatPrompt(system="Repeat.", user=text)).text == f"heard: {text}"


def test_a_model_that_cannot_answer_says_so(chat: ChatModel) -> None:
    """There is one error for it, and the next prompt is answered again."""
    with pytest.raises(ChatUnavailable):
        chat.complete(ChatPrompt(system="Repeat.", user=FAIL))

    assert chat.complete(ChatPrompt(system="Repeat.", user="tea")).text == "heard: tea"


def test_threads_share_one_model(chat: ChatModel) -> None:
    """Every thread gets the reply to its own prompt."""
    said = [f"message {number}" for number in range(24)]

    def complete(text: str) -> str:
        return chat.complete(ChatPrompt(system="Repeat.", user=text)).text

    with ThreadPoolExecutor(6) as pool:
        heard = list(pool.map(complete, said))

    assert heard == [f"heard: {text}" for text in said]


def test_the_name_is_stable(chat: ChatModel) -> None:
    """What history records is the same before and after a call."""
    before = chat.name
    chat.complete(ChatPrompt(system="Repeat.", user="tea"))

    assert chat.name == before
    assert before
