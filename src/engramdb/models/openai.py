"""
Chat models and embedders behind an OpenAI-shaped address: Ollama, LM Studio, llama.cpp, vLLM, or a service.

Neither a prompt, a text, a reply nor the key ever appears in an error, a repr or a log.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any, Final

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from engramdb.errors import DimensionMismatch, EmbedderUnavailable, InvalidSettings
from engramdb.models.calibration import Calibration, fit_embedder
from engramdb.models.chat import ChatPrompt, ChatReply
from engramdb.models.http import (
    CHAT_TIMEOUT_SECONDS,
    Deadline,
    RequestFailed,
    check_server,
    host_of,
    open_server,
    post_json,
)
from engramdb.values.memory import EmbedderIdentity
from engramdb.vault.disclosure import Audience, disclose_text

OPTIONAL: Final = ("response_format", "temperature", "max_tokens")


class _OpenAIMessage(Struct, frozen=True):
    content: str | None = None
    refusal: str | None = None


class _Choice(Struct, frozen=True):
    message: _OpenAIMessage
    finish_reason: str | None = None


class _OpenAITokens(Struct, frozen=True):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Completion(Struct, frozen=True):
    choices: list[_Choice]
    usage: _OpenAITokens | None = None


# Made once, at import: threads that meet a type together for the first time can crash msgspec.
_read_completion = msgspec.json.Decoder(_Completion).decode


class OpenAIChat:
    """
    Prompts in, replies out, from a server. Safe to share between threads.

    A schema is left out for servers that refuse it, since prompts describe their form in words too.
    """

    def __init__(
        self,
        url: str,
        model: str,
        api_key: str | None = None,
        *,
        timeout_seconds: float = CHAT_TIMEOUT_SECONDS,
    ) -> None:
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._server = open_server(
            url, model, OPTIONAL, key=api_key, headers=headers, timeout_seconds=timeout_seconds
        )

    def __repr__(self) -> str:
        return f"OpenAIChat({self._server.url!r}, {self._server.model!r})"

    @property
    def name(self) -> str:
        """The model's name, with the interface that it is asked through."""
        return f"openai:{self._server.model}"

    def complete(self, prompt: ChatPrompt) -> ChatReply:
        """Return the reply; a refusal is a reply like any other, and its text the model's excuse."""
        begin = time.perf_counter()
        sent = self._server.send("chat/completions", lambda refused: self._request(prompt, refused))
        completion = self._decode(sent)
        first = completion.choices[0]
        tokens = completion.usage or _OpenAITokens()
        return ChatReply(
            text=first.message.content or first.message.refusal or "",
            input_tokens=tokens.prompt_tokens or 0,
            output_tokens=tokens.completion_tokens or 0,
            milliseconds=(time.perf_counter() - begin) * 1000,
            is_cut_off=first.finish_reason == "length",
        )

    def _request(self, prompt: ChatPrompt, refused: frozenset[str]) -> dict[str, Any]:
        content: dict[str, Any] = {
            "model": self._server.model,
            "messages": [
                {"role": "system", "content": prompt.system},
                {"role": "user", "content": prompt.user},
            ],
        }
        if "temperature" not in refused:
            content["temperature"] = prompt.temperature
        # Reasoning models of the service know the limit by another name; most local servers only by this one.
        content["max_completion_tokens" if "max_tokens" in refused else "max_tokens"] = prompt.max_tokens
        if prompt.schema is not None and "response_format" not in refused:
            form = {"name": prompt.name, "strict": True, "schema": prompt.schema}
            content["response_format"] = {"type": "json_schema", "json_schema": form}
        return content

    def _decode(self, sent: bytes) -> _Completion:
        try:
            completion = _read_completion(sent)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
            raise self._server.unavailable("sent something that is not a completion") from exc
        if not completion.choices:
            raise self._server.unavailable("sent a completion without a choice")
        return completion


EMBEDDING_TIMEOUT_SECONDS: Final = 20.0
BATCH: Final = 32
PROBE: Final = "dimension"


class _Row(Struct, frozen=True):
    embedding: list[float]
    index: int | None = None


class _EmbeddingsReply(Struct, frozen=True):
    data: list[_Row]


# Made once, at import: threads that meet a type together for the first time can crash msgspec.
_read_reply = msgspec.json.Decoder(_EmbeddingsReply).decode


class OpenAICompatibleEmbedder:
    """
    Text in, unit vectors out, from a server.

    Without a `dimension` the first need of it costs one call. A busy server is asked once more, then the
    failure is the caller's to see: memories are saved without vectors and embedded later. Safe to share
    between threads.
    """

    similarity_floor = 0.2
    """Between the floors of common models; a guess, since a server does not reveal its own."""

    def __init__(
        self,
        url: str,
        model: str,
        *,
        api_key: str | None = None,
        dimension: int | None = None,
        timeout_seconds: float = EMBEDDING_TIMEOUT_SECONDS,
        batch: int = BATCH,
    ) -> None:
        check_server(url, api_key, whose="embedder")
        if batch < 1:
            raise InvalidSettings(f"the batch must be at least 1, not {batch}")
        self.url = url
        self.model = model
        self.api_key = api_key
        self.dimension = dimension
        self.timeout_seconds = timeout_seconds
        self.batch = batch
        self._learning = threading.Lock()
        self._calibrating = threading.Lock()
        self._calibration: Calibration | None = None

    @property
    def identity(self) -> EmbedderIdentity:
        """The model's name is all that a server reveals, so it is name and revision in one."""
        dimension = self.dimension if self.dimension is not None else self._learn_dimension()
        return EmbedderIdentity(name=f"openai:{self.model}", dimension=dimension, revision=self.model)

    @property
    def calibration(self) -> Calibration:
        """Fitted when first needed, on the shipped pairs; after a failure the next need asks again."""
        with self._calibrating:
            if self._calibration is None:
                self._calibration = fit_embedder(self)
            return self._calibration

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row of length one per text."""
        rows = np.empty((len(texts), self.identity.dimension), np.float32)
        for begin in range(0, len(texts), self.batch):
            rows[begin : begin + self.batch] = self._ask(texts[begin : begin + self.batch])
        return rows

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row of length one per question."""
        return self.embed_documents(texts)

    def _learn_dimension(self) -> int:
        with self._learning:
            if self.dimension is None:
                self.dimension = self._ask([PROBE]).shape[1]
            return self.dimension

    def _ask(self, texts: Sequence[str]) -> NDArray[np.float32]:
        # Servers answer an empty string with an error or with nothing; a space has a vector.
        # Whoever runs the server, it is elsewhere.
        shown = [disclose_text(text, Audience.REMOTE_EMBEDDER) or " " for text in texts]
        content = {"model": self.model, "input": shown}
        try:
            reply = post_json(
                f"{self.url.rstrip('/')}/embeddings",
                content,
                headers={"Authorization": f"Bearer {self.api_key}"} if self.api_key else {},
                deadline=Deadline.after(self.timeout_seconds),
            )
        except RequestFailed as exc:
            raise self._unavailable(exc.reason) from exc
        return _to_unit_length(self._arrange(self._decode(reply), len(texts)))

    def _decode(self, reply: bytes) -> list[_Row]:
        try:
            return _read_reply(reply).data
        except (msgspec.DecodeError, UnicodeDecodeError) as exc:
            raise self._unavailable("sent something that is not a list of embeddings") from exc

    def _arrange(self, rows: list[_Row], count: int) -> NDArray[np.float32]:
        """Return the rows in the order of the texts; a row without an index stands where it came."""
        if len(rows) != count:
            raise self._unavailable(f"sent {len(rows)} embeddings for {count} texts")
        places = [number if row.index is None else row.index for number, row in enumerate(rows)]
        if sorted(places) != list(range(count)):
            raise self._unavailable("numbered its embeddings wrongly")
        in_order = [
            row.embedding for _, row in sorted(zip(places, rows, strict=True), key=lambda pair: pair[0])
        ]
        self._check_lengths({len(embedding) for embedding in in_order})
        vectors = np.asarray(in_order, np.float32)
        if not np.isfinite(vectors).all() or not np.any(vectors, axis=1).all():
            raise self._unavailable("sent an embedding of zeros or of numbers that are too large")
        return vectors

    def _check_lengths(self, lengths: set[int]) -> None:
        if self.dimension is None and len(lengths) == 1 and 0 not in lengths:
            return
        if lengths != {self.dimension}:
            found = ", ".join(map(str, sorted(lengths)))
            expected = self.dimension or "one length only"
            raise DimensionMismatch(
                f"model {self.model!r} gave vectors of length {found}, expected {expected}",
                hint="Check the model's name and the dimension in the settings.",
            )

    def _unavailable(self, reason: str) -> EmbedderUnavailable:
        return EmbedderUnavailable(
            f"the embedder {self.model!r} at {host_of(self.url)} {reason}",
            hint="Check that the server runs and knows the model; what was saved will be embedded later.",
        )


def _to_unit_length(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)
