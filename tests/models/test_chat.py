"""Chat models behind a server: real HTTP on loopback, well-behaved and not, through both interfaces."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING

import httpx
import pytest
from loopback import running

from engramdb.errors import ChatReplyInvalid, ChatUnavailable, InvalidSettings
from engramdb.models import http as model_http
from engramdb.models.anthropic import AnthropicChat
from engramdb.models.chat import BadReply, CallLog, ChatPrompt, ChatQuestion, ask
from engramdb.models.http import MAX_COMPLETION_BYTES, Deadline, RequestFailed, post_json, wait_seconds
from engramdb.models.openai import OpenAIChat
from engramdb.models.prompts.replies import find_json
from engramdb.models.registry import open_chat

from .chat_server import (
    Answer,
    anthropic_says,
    anthropic_uses_tool,
    openai_says,
    raw_server,
    serving,
    unused_url,
)

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from conftest import RunChild

    from engramdb.models.chat import ChatModel

KEY = "sk-very-secret"
WORDS = "the patient's name is Ada"
SCHEMA = {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]}
PROMPT = ChatPrompt(system="You name colours.", user=WORDS, name="colour", schema=SCHEMA, max_tokens=50)


@dataclass(frozen=True)
class Interface:
    """One of the two ways to ask, and to be answered."""

    open: Callable[..., ChatModel]
    says: Callable[..., Answer]
    path: str


INTERFACES = {
    "openai": Interface(
        lambda url, **options: OpenAIChat(url, "test-model", KEY, **options),
        openai_says,
        "/v1/chat/completions",
    ),
    "anthropic": Interface(
        lambda url, **options: AnthropicChat("test-model", KEY, url=url, **options),
        anthropic_says,
        "/v1/messages",
    ),
}


@pytest.fixture(params=INTERFACES)
def via(request: pytest.FixtureRequest) -> Interface:
    """Each interface in turn."""
    return INTERFACES[request.param]


def read_colour(text: str) -> str:
    """Read the reply to the question of these tests."""
    value = find_json(text)
    if not isinstance(value, dict) or not isinstance(value.get("colour"), str):
        raise BadReply('it has no text "colour"')
    return str(value["colour"])


QUESTION = ChatQuestion(purpose="colour", version=3, prompt=PROMPT, parse=read_colour)


# What is sent.


def test_an_openai_request_has_the_shape_that_servers_expect() -> None:
    """Path, key, messages, limits and the schema travel as the OpenAI interface has them."""
    with serving(openai_says("{}")) as server:
        OpenAIChat(server.url, "test-model", KEY).complete(PROMPT)

    seen = server.requests[0]
    assert server.paths == ["/v1/chat/completions"]
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert [message["role"] for message in seen["messages"]] == ["system", "user"]
    assert (seen["model"], seen["temperature"], seen["max_tokens"]) == ("test-model", 0.0, 50)
    assert seen["response_format"]["json_schema"] == {"name": "colour", "strict": True, "schema": SCHEMA}


def test_an_anthropic_request_has_the_shape_that_servers_expect() -> None:
    """Path, key, version, the system text apart, and the schema as a tool that must be used."""
    with serving(anthropic_says("{}")) as server:
        AnthropicChat("test-model", KEY, url=server.url).complete(PROMPT)

    seen = server.requests[0]
    assert server.paths == ["/v1/messages"]
    assert server.headers[0]["x-api-key"] == KEY
    assert server.headers[0]["anthropic-version"] == "2023-06-01"
    assert (seen["system"], seen["max_tokens"]) == (PROMPT.system, 50)
    assert seen["messages"] == [{"role": "user", "content": WORDS}]
    assert seen["tools"][0]["input_schema"] == SCHEMA
    assert seen["tool_choice"] == {"type": "tool", "name": "colour"}


def test_without_a_schema_none_is_sent(via: Interface) -> None:
    """A plain question is a plain request."""
    with serving(via.says("NONE")) as server:
        via.open(server.url).complete(ChatPrompt(system="s", user="u"))

    assert not {"response_format", "tools", "tool_choice"} & server.requests[0].keys()


def test_half_a_character_is_sent_as_a_question_mark(via: Interface) -> None:
    """Servers refuse the whole request because of a lone surrogate."""
    with serving(via.says("NONE")) as server:
        via.open(server.url).complete(ChatPrompt(system="s", user="a\ud800b"))

    assert server.requests[0]["messages"][-1]["content"] == "a?b"


# What comes back.


def test_a_reply_is_counted_by_the_server(via: Interface) -> None:
    """The text, the tokens and the time come back together."""
    with serving(via.says('{"colour": "red"}')) as server:
        reply = via.open(server.url).complete(PROMPT)

    assert reply.text == '{"colour": "red"}'
    assert (reply.input_tokens, reply.output_tokens, reply.is_cut_off) == (11, 7, False)
    assert reply.milliseconds > 0


def test_a_server_that_counts_nothing_is_fine() -> None:
    """Some local servers leave the usage out."""
    body = b'{"choices": [{"message": {"content": "red"}}], "usage": null}'
    with serving(Answer(body)) as server:
        reply = OpenAIChat(server.url, "m").complete(PROMPT)

    assert (reply.text, reply.input_tokens) == ("red", 0)


def test_the_input_of_a_tool_is_the_reply() -> None:
    """What the model put into the form is given back as JSON; the talk beside it is left out."""
    with serving(anthropic_uses_tool({"colour": "grün"})) as server:
        reply = AnthropicChat("m", KEY, url=server.url).complete(PROMPT)

    assert json.loads(reply.text) == {"colour": "grün"}


@pytest.mark.parametrize(
    "text",
    [
        '{"colour": "red"}',
        '```json\n{"colour": "red"}\n```',
        'Sure! Here it is:\n{"colour": "red"}\nLet me know if you need more.',
        '<think>Could it be {"colour": "blue"}? No.</think>\n{"colour": "red"}',
    ],
)
def test_sloppy_replies_are_understood(via: Interface, text: str) -> None:
    """Fences, prose and thinking around one JSON object cost nothing."""
    log = CallLog()
    with serving(via.says(text)) as server:
        answer = ask(via.open(server.url), QUESTION, log=log)

    assert (answer.value, answer.attempts, answer.version) == ("red", 1, 3)
    assert log.total().invalid == 0


def test_an_invalid_reply_is_asked_for_again_with_the_reason(via: Interface) -> None:
    """The model is told what was wrong, once, and its second reply counts."""
    log = CallLog()
    with serving(via.says('{"color": 3}'), via.says('{"colour": "red"}')) as server:
        answer = ask(via.open(server.url), QUESTION, log=log)

    assert (answer.value, answer.attempts) == ("red", 2)
    assert 'it has no text "colour"' in server.requests[1]["messages"][-1]["content"]
    assert (log.total().calls, log.total().invalid, log.total().failures) == (2, 1, 0)


@pytest.mark.parametrize(
    "text", ["", "I cannot help with that.", "[1, 2]", '{"colour": 1}', '{"colour": "re']
)
def test_an_invalid_reply_twice_is_an_error_with_the_reply_attached(via: Interface, text: str) -> None:
    """What the model said can be looked at, but stands in no message."""
    said = f"{text} {WORDS}"
    with serving(via.says(said)) as server, pytest.raises(ChatReplyInvalid) as caught:
        ask(via.open(server.url), QUESTION, log=CallLog())

    assert len(server.requests) == 2
    assert caught.value.reply == said
    assert WORDS not in f"{caught.value!r} {caught.value}"


def test_a_refusal_is_an_invalid_reply() -> None:
    """OpenAI puts it beside an empty content; it is a reply that cannot be used, not a dead server."""
    refusal = openai_says(None, refusal="I can't help with that.")
    with serving(refusal) as server, pytest.raises(ChatReplyInvalid) as caught:
        ask(OpenAIChat(server.url, "m"), QUESTION, log=CallLog())

    assert caught.value.reply == "I can't help with that."


def test_a_reply_without_content_is_invalid() -> None:
    """Anthropic refuses with an empty list of blocks."""
    with serving(anthropic_says(None, finish="refusal")) as server, pytest.raises(ChatReplyInvalid):
        ask(AnthropicChat("m", url=server.url), QUESTION, log=CallLog())


@pytest.mark.parametrize(("interface", "finish"), [("openai", "length"), ("anthropic", "max_tokens")])
def test_a_reply_that_was_cut_off_says_so(interface: str, finish: str) -> None:
    """The model is told to be brief when its tokens ran out."""
    via = INTERFACES[interface]
    with serving(via.says('{"colour', finish=finish), via.says('{"colour": "red"}')) as server:
        ask(via.open(server.url), QUESTION, log=CallLog())

    assert "cut off" in server.requests[1]["messages"][-1]["content"]


# What servers refuse.


def test_a_server_without_schemas_is_asked_plainly_and_remembered(via: Interface) -> None:
    """The first call costs one more request; the next does not."""
    refusal = Answer(b'{"error": "unknown field"}', 400)
    with serving(refusal, via.says("red")) as server:
        chat = via.open(server.url)
        chat.complete(PROMPT)
        chat.complete(PROMPT)

    asked = ["response_format" in seen or "tools" in seen for seen in server.requests]
    assert asked == [True, False, False]


@pytest.mark.parametrize(
    ("complaint", "gone", "instead"),
    [
        ("Unsupported value: 'temperature' does not support 0", "temperature", None),
        ("Unsupported parameter: 'max_tokens'", "max_tokens", "max_completion_tokens"),
    ],
)
def test_a_field_that_the_server_names_is_the_one_left_out(
    complaint: str, gone: str, instead: str | None
) -> None:
    """Reasoning models refuse a temperature and know the limit by another name; the schema stays."""
    refusal = Answer(json.dumps({"error": {"message": complaint}}).encode(), 400)
    with serving(refusal, openai_says("red")) as server:
        OpenAIChat(server.url, "m").complete(PROMPT)

    seen = server.requests[1]
    assert gone not in seen
    assert "response_format" in seen
    assert instead is None or seen[instead] == 50


def test_a_request_that_is_bad_in_itself_teaches_nothing(via: Interface) -> None:
    """A prompt that is too long is refused in every form, and the next one is asked for with its schema."""
    refusal = Answer(b'{"error": "too long"}', 400)
    with serving(refusal, refusal, via.says("red")) as server:
        chat = via.open(server.url)
        with pytest.raises(ChatUnavailable, match="400"):
            chat.complete(PROMPT)
        chat.complete(PROMPT)

    assert {"response_format", "tools"} & server.requests[-1].keys()


# What goes wrong.


@pytest.mark.parametrize("status", [429, 500, 503, 529])
def test_a_busy_server_is_asked_once_more(via: Interface, status: int) -> None:
    """One hiccup is not a failure."""
    with serving(Answer(b"", status, {"Retry-After": "0"}), via.says("red")) as server:
        reply = via.open(server.url).complete(PROMPT)

    assert reply.text == "red"
    assert len(server.requests) == 2


def test_a_server_that_stays_busy_is_unavailable(via: Interface) -> None:
    """There is one retry and no more."""
    busy = Answer(b"", 500, {"Retry-After": "0"})
    with serving(busy) as server, pytest.raises(ChatUnavailable, match="500 twice"):
        via.open(server.url).complete(PROMPT)

    assert len(server.requests) == 2


def test_a_wait_longer_than_the_time_left_is_not_begun(via: Interface) -> None:
    """The time-out is for the whole completion, waiting included."""
    busy = Answer(b"", 429, {"Retry-After": "4"})
    with serving(busy) as server, pytest.raises(ChatUnavailable, match="no time left"):
        via.open(server.url, timeout_seconds=3.0).complete(PROMPT)

    assert len(server.requests) == 1


def test_a_silent_server_is_given_up_in_time(via: Interface) -> None:
    """A model that hangs costs the time-out and no more."""
    begin = time.monotonic()
    with serving(Answer(b"", hangs=True)) as server, pytest.raises(ChatUnavailable, match=r"within 0\.2 sec"):
        via.open(server.url, timeout_seconds=0.2).complete(PROMPT)

    assert time.monotonic() - begin < 5


@pytest.mark.parametrize("greeting", [b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", b"HTTP/1.1 200 O"])
def test_a_trickling_server_is_given_up_in_time(via: Interface, greeting: bytes) -> None:
    """A byte now and then, in the body or already in the head, does not start the time anew."""
    given_up = threading.Event()

    def trickle(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(greeting)
        while not given_up.wait(0.05):
            connection.sendall(b"K")

    with raw_server(trickle) as url:
        begin = time.monotonic()
        with pytest.raises(ChatUnavailable, match="within"):
            via.open(url, timeout_seconds=0.3).complete(PROMPT)
        spent = time.monotonic() - begin
        given_up.set()

    assert spent < 5


def test_a_refused_connection_says_so(via: Interface) -> None:
    """The commonest mistake, a server that was not started, is named."""
    with pytest.raises(ChatUnavailable, match="refused the connection"):
        via.open(unused_url()).complete(PROMPT)


def test_a_cut_connection_is_no_short_reply(via: Interface) -> None:
    """A server that dies half-way has said nothing."""

    def hang_up(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{}")

    with raw_server(hang_up) as url, pytest.raises(ChatUnavailable):
        via.open(url).complete(PROMPT)


def test_a_huge_reply_is_not_read_to_its_end(via: Interface) -> None:
    """A reply has a largest size, however long the server goes on."""
    with (
        serving(Answer(b"x" * (MAX_COMPLETION_BYTES + 1))) as server,
        pytest.raises(ChatUnavailable, match="more"),
    ):
        via.open(server.url).complete(PROMPT)


@pytest.mark.parametrize(
    "answer",
    [
        Answer(b"{not json"),
        Answer(b"\xff\xfe"),
        Answer(b"[]"),
        Answer(b"{}"),
        Answer(b'{"choices": []}'),
        Answer(b'{"choices": [{"message": {"content": 7}}], "content": 7}'),
        Answer(b'{"choices": "the patient\'s name is Ada"}'),
        Answer(b"[" * 100_000),
        Answer(b'{"error": "the patient\'s name is Ada"}', 400),
        Answer(b'{"error": "model not found"}', 404),
        Answer(b"", 401),
        Answer(b"", 302, {"Location": "http://127.0.0.1:9/"}),
    ],
)
def test_a_bad_answer_is_an_error_that_keeps_secrets(via: Interface, answer: Answer) -> None:
    """Whatever is wrong is said without the prompt, the key or the server's own words, also in the log."""
    log = CallLog()
    with serving(answer) as server, pytest.raises(ChatUnavailable) as caught:
        ask(via.open(server.url), QUESTION, log=log)

    shown = f"{caught.value!r} {caught.value} {caught.value.__cause__!r} {log!r} {log.total()}"
    assert not any(secret in shown for secret in (KEY, WORDS, "not found"))
    assert log.total().failures == 1


def test_nothing_of_a_model_gives_its_key_away(via: Interface) -> None:
    """Printing the model, or what it holds, shows no key."""
    chat = via.open("http://localhost:1/v1")

    assert KEY not in f"{chat!r} {vars(chat)}"


@pytest.mark.parametrize(
    "url", ["localhost:11434", "file:///etc/passwd", "http://", "http://u:p@h", "http://h?x"]
)
def test_only_web_addresses_are_accepted(via: Interface, url: str) -> None:
    """A bad address is refused when the model is opened, not when it is used."""
    with pytest.raises(InvalidSettings):
        via.open(url)


@pytest.mark.parametrize("choice", ["openai:m", "anthropic:m"])
def test_a_malformed_key_is_refused_without_being_shown(choice: str) -> None:
    """A key pasted with its line break is the user's mistake, and still a key."""
    with pytest.raises(InvalidSettings) as caught:
        open_chat(choice, url="http://localhost", key="sk-secret\n")

    assert "cret" not in str(caught.value)


# The HTTP client that embedders and chat models share.


@pytest.mark.parametrize(
    ("asked", "waited"), [("0", 0.0), ("3", 3.0), ("86400", 5.0), ("nan", 0.5), (None, 0.5)]
)
def test_waiting_is_bounded_whatever_the_server_asks(asked: str | None, waited: float) -> None:
    """A server cannot park an agent for a day, nor with a number that is none."""
    assert wait_seconds(asked) == waited


def test_an_exchange_leaves_no_thread_behind(via: Interface) -> None:
    """The thread that an exchange runs in ends with it."""
    with serving(via.says("red")) as server:
        via.open(server.url).complete(PROMPT)
        time.sleep(0.05)
        left = [thread for thread in threading.enumerate() if thread.name == "engram-http"]

    assert left == []


def test_a_deadline_that_has_passed_is_missed_at_once() -> None:
    """Nothing is sent when there is no time to hear the answer."""
    begin = time.monotonic()
    with serving(Answer(b"", hangs=True)) as server, pytest.raises(RequestFailed, match="within"):
        post_json(server.url, {}, headers={}, deadline=Deadline.after(-1))

    assert time.monotonic() - begin < 5


def test_calls_share_a_connection_and_a_fork_opens_its_own() -> None:
    """A handshake costs more than a call; two processes on one connection would read each other's replies."""
    connections: list[int] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            connections.append(self.client_address[1])
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")
            self.close_connection = len(connections) == 3

        def log_message(self, *_: object) -> None:
            pass

    with running(Handler) as url:
        clients = [model_http._client(process, is_local=True, is_secure=False) for process in (-1, -1, -2)]
        for client in clients:
            client.send(httpx.Request("POST", url, content=b"{}")).close()
        for client in clients:
            client.close()

    assert connections[0] == connections[1] != connections[2]


def test_a_store_without_a_model_of_its_own_loads_no_client(child: RunChild) -> None:
    """What asks no server need not be able to."""
    loaded = child(
        """
        import sys
        from engramdb import Engram
        with Engram.open(sys.argv[1], background=False) as engram:
            engram.remember("I like tea")
            engram.recall("tea")
        print("httpx" in sys.modules, "yaml" in sys.modules)
        """,
        "memory.db",
    )

    assert loaded == "False False"


@pytest.mark.parametrize("choice", ["openai:m", "anthropic:m"])
def test_without_httpx_the_extra_is_named(child: RunChild, choice: str) -> None:
    """The error says what to install."""
    told = child(
        """
        import sys
        sys.modules["httpx"] = None
        from engramdb.errors import MissingExtra
        from engramdb.models.registry import open_chat
        try:
            open_chat(sys.argv[1], url="http://localhost:1", key="k")
        except MissingExtra as exc:
            print(exc.hint)
        """,
        choice,
    )

    assert "[chat]" in told
