"""
A model server on loopback that says what a test tells it to, in the shape of either interface.

Real HTTP: time-outs, refusals and broken replies are those of sockets and not of a stand-in.
"""

from __future__ import annotations

import json
import socket
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any

from loopback import running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass(frozen=True)
class Answer:
    """What the server will say to one request; one that hangs says nothing until the test is over."""

    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    hangs: bool = False


@dataclass
class Script:
    """The answers still to give, and the requests seen so far."""

    answers: list[Answer]
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    url: str = ""


@contextmanager
def serving(*answers: Answer) -> Iterator[Script]:
    """Run a server that gives the answers in turn and then repeats the last."""
    script = Script(list(answers))
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            script.paths.append(self.path)
            script.headers.append({name.lower(): value for name, value in self.headers.items()})
            script.requests.append(json.loads(body))
            answer = script.answers.pop(0) if len(script.answers) > 1 else script.answers[0]
            if answer.hangs:
                over.wait(30)
                return
            with suppress(ConnectionError):  # the caller has given up, as it should
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body)

        def log_message(self, *_: object) -> None:
            pass

    with running(Handler) as script.url:
        try:
            yield script
        finally:
            over.set()


@contextmanager
def raw_server(speak: Callable[[socket.socket], None]) -> Iterator[str]:
    """Run a server for one connection that says exactly what it is told to."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection, suppress(ConnectionError):
                speak(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        thread.join()


def unused_url() -> str:
    """Return an address where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}/v1"


def openai_says(text: str | None, *, finish: str = "stop", **message: Any) -> Answer:
    """Return a completion in OpenAI's shape."""
    content = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "test-model",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text, **message},
                "finish_reason": finish,
            }
        ],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    }
    return Answer(json.dumps(content).encode())


def anthropic_says(text: str | None, *, finish: str = "end_turn", **_: Any) -> Answer:
    """Return a message in Anthropic's shape, with the text in one block."""
    blocks = [] if text is None else [{"type": "text", "text": text}]
    return _anthropic_message(blocks, finish)


def anthropic_uses_tool(value: dict[str, Any]) -> Answer:
    """Return a message in Anthropic's shape that uses the tool it was given."""
    talk = {"type": "text", "text": "Here are the statements."}
    use = {"type": "tool_use", "id": "toolu_1", "name": "statements", "input": value}
    return _anthropic_message([talk, use], "tool_use")


def _anthropic_message(blocks: list[dict[str, Any]], finish: str) -> Answer:
    content = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "test-model",
        "content": blocks,
        "stop_reason": finish,
        "usage": {"input_tokens": 11, "output_tokens": 7},
    }
    return Answer(json.dumps(content).encode())
