"""
Choose and open a chat model by name: `openai:MODEL` or `anthropic:MODEL`.

Called by the engine when it opens; the only place that builds chat models.
Opening is cheap and sends nothing. An `openai:` model needs the address of its server: many run on the
user's own machine, and a forgotten setting must not send what people said to somebody else's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from engram.errors import InvalidSettings, UnknownModel

if TYPE_CHECKING:
    from engram.providers.chat import ChatModel

INTERFACES: Final = ("openai", "anthropic")


def open_chat(
    choice: str, *, url: str = "", key: str | None = None, timeout_seconds: float = 60.0
) -> ChatModel:
    """Return the chat model of that name, not yet asked; `timeout_seconds` is for one whole completion."""
    interface, _, model = choice.partition(":")
    if interface not in INTERFACES or not model.strip():
        raise UnknownModel(
            f"there is no chat model called {choice!r}", hint="Write `openai:MODEL` or `anthropic:MODEL`."
        )
    if timeout_seconds <= 0:
        raise InvalidSettings(f"the time-out of the chat model, {timeout_seconds}, must be above 0")
    if interface == "anthropic":
        return _open_anthropic(model, url, key, timeout_seconds)
    return _open_openai(model, url, key, timeout_seconds)


def _open_openai(model: str, url: str, key: str | None, timeout_seconds: float) -> ChatModel:
    if not url:
        raise InvalidSettings(
            f"the chat model 'openai:{model}' needs the address of its server",
            hint="Give it, such as http://localhost:11434/v1 for a model on this machine.",
        )
    # Brings in the HTTP client and TLS, a tenth of the time that `import engram` takes.
    from engram.providers.openai_chat import OpenAIChat  # noqa: PLC0415

    return OpenAIChat(url, model, key, timeout_seconds=timeout_seconds)


def _open_anthropic(model: str, url: str, key: str | None, timeout_seconds: float) -> ChatModel:
    if not key and not url:
        raise InvalidSettings(f"the chat model 'anthropic:{model}' needs a key")
    from engram.providers.anthropic_chat import SERVICE_URL, AnthropicChat  # noqa: PLC0415

    return AnthropicChat(model, key, url=url or SERVICE_URL, timeout_seconds=timeout_seconds)
