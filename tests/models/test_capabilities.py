"""What a model can hold and do, by its name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engramdb import Settings
from engramdb.errors import InvalidSettings
from engramdb.models.capabilities import (
    MODELS_PATH,
    UNKNOWN_CONTEXT,
    UNKNOWN_OUTPUT,
    Capabilities,
    capabilities,
    known_tokenizers,
    registry,
)

if TYPE_CHECKING:
    from pathlib import Path

ENTRIES = list(registry().values())


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("claude-opus-4-6-20260101", "claude-opus-4-6"),
        ("claude-opus-4-20250514", "claude-opus-4"),
        ("anthropic:claude-sonnet-5-5", "claude-sonnet-5"),
        ("anthropic/claude-3.5-sonnet", "claude-3-5"),
        ("us.anthropic.claude-3-7-sonnet-20250219-v1:0", "claude-3-7"),
        ("bedrock/eu.anthropic.claude-haiku-4-5-20251001-v1:0", "claude-haiku-4-5"),
        ("claude-3-5-sonnet@20240620", "claude-3-5"),
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("gpt-4o-2024-05-13", "gpt-4o-2024-05-13"),
        ("openai/gpt-4o", "gpt-4o"),
        ("openai:gpt-4.1-mini", "gpt-4.1"),
        ("ft:gpt-4o-mini-2024-07-18:acme::abc123", "gpt-4o"),
        ("gpt-4-1106-preview", "gpt-4-1106"),
        ("gpt-4-0613", "gpt-4"),
        ("azure/gpt-35-turbo", "gpt-35"),
        ("o3-mini-2025-01-31", "o3-mini"),
        ("GPT-5.2-Codex", "gpt-5"),
        ("gpt-oss:20b", "gpt-oss"),
        ("models/gemini-2.5-pro", "gemini-2.5"),
        ("google/gemini-3.1-flash-lite-preview", "gemini-3"),
        ("gemma3:4b", "gemma-3"),
        ("gemma3:1b", "gemma-3-1b"),
        ("gemma-3n-e4b-it", "gemma-3n"),
        ("llama3.2:3b", "llama-3.2"),
        ("llama3:8b", "llama-3"),
        ("ollama/llama3.2-vision:11b", "llama-3.2-vision"),
        ("meta-llama/Llama-3.1-8B-Instruct", "llama-3.1"),
        ("Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf", "llama-3.1"),
        ("meta.llama3-1-70b-instruct-v1:0", "llama-3.1"),
        ("Llama-4-Maverick-17B-128E-Instruct-FP8", "llama-4"),
        ("Qwen/Qwen2.5-7B-Instruct", "qwen-2.5"),
        ("qwen3:8b", "qwen-3"),
        ("qwen3.8-max", "qwen-3.8"),
        ("qwen3-coder:30b", "qwen-3-coder"),
        ("mistral.mistral-large-2402-v1:0", "mistral-large"),
        ("mistral:7b", "mistral-7b"),
        ("mistral:latest", "mistral"),
        ("deepseek-r1:7b", "deepseek-r1"),
        ("us.deepseek.r1-v1:0", "deepseek-r1"),
        ("deepseek-ai/DeepSeek-V3.1", "deepseek-v3.1"),
        ("x-ai/grok-4.20-beta", "grok-4.20"),
        ("command-r-08-2024", "command-r"),
        ("microsoft/Phi-4-mini-instruct", "phi-4-mini"),
        ("phi3:3.8b", "phi-3"),
        ("hf.co/someone/SmolLM2-135M-Instruct-GGUF:Q8_0", "smollm2"),
    ],
)
def test_a_name_finds_its_family(name: str, entry: str) -> None:
    """Dates, sizes, hosts, cases and marks do not matter; the longest entry wins."""
    found = capabilities(name)
    named = next(one for one in ENTRIES if one.name == entry)

    assert found.is_known
    assert found.name == name
    assert (found.context_window, found.output_limit, found.tokenizer, found.vendor) == (
        named.context_window,
        named.output_limit,
        named.tokenizer,
        named.vendor,
    )
    assert (found.tools, found.vision, found.thinking) == (named.tools, named.vision, named.thinking)


@pytest.mark.parametrize(
    "name", ["", "  ", "my-model", "opus", "gptx-4", "o", "3b", "/", "::", "text-embedding-3-small", "модель"]
)
def test_an_unknown_model_is_small_and_can_do_nothing(name: str) -> None:
    """A cautious guess, and it says that it is one."""
    found = capabilities(name)

    assert found == Capabilities(name=name)
    assert (found.context_window, found.output_limit) == (UNKNOWN_CONTEXT, UNKNOWN_OUTPUT) == (8192, 1024)
    assert not any((found.tools, found.vision, found.thinking, found.is_known))


def test_an_own_model_is_known() -> None:
    """What the user says about a name that nobody else knows is all there is, the rest stays cautious."""
    own = {"my-model": {"context": 32_000, "tools": True}}

    found = capabilities("my-model:latest", overrides=own)

    assert found == Capabilities(name="my-model:latest", context_window=32_000, tools=True, is_known=True)


def test_a_partial_entry_completes_what_is_known() -> None:
    """The user's field wins; all others are those of the registry."""
    known = capabilities("claude-opus-4-6")

    found = capabilities("claude-opus-4-6", overrides={"claude-opus-4-6": {"context": 1_000_000}})

    assert found.context_window == 1_000_000
    assert (found.output_limit, found.tools, found.tokenizer) == (known.output_limit, True, known.tokenizer)


def test_a_smaller_window_takes_the_reply_along() -> None:
    """A model that is served with a short window cannot answer longer than that window."""
    found = capabilities("gpt-4o", overrides={"gpt-4o": {"context": 4_000}})

    assert (found.context_window, found.output_limit) == (4_000, 4_000)


def test_an_entry_about_a_family_leaves_better_known_members_alone() -> None:
    """An override of gpt-4 is not one of gpt-4o, which has an entry of its own."""
    own = {"gpt-4": {"context": 4_000}}

    assert capabilities("gpt-4-0613", overrides=own).context_window == 4_000
    assert capabilities("gpt-4o", overrides=own) == capabilities("gpt-4o")


def test_the_longest_own_entry_wins() -> None:
    """Among the user's entries as among ours."""
    own = {"mine": {"context": 1_000}, "mine-large": {"context": 2_000, "output": 500}}

    assert capabilities("mine-large-2", overrides=own).context_window == 2_000
    assert capabilities("mine-small", overrides=own).context_window == 1_000


@pytest.mark.parametrize(
    ("entry", "named"),
    [
        ({"window": 1}, "window"),
        ({"context": "32k"}, "32k"),
        ({"context": 0}, "context=0"),
        ({"tools": 1}, "tools=1"),
        ({"context": True}, "True"),
        ({"context": 100, "output": 200}, "output=200"),
        (32_000, "32000"),
    ],
)
def test_a_wrong_entry_is_refused_by_name(entry: Any, named: str) -> None:
    """In the settings as in an argument, and the message says which field of which model."""
    with pytest.raises(InvalidSettings, match=rf"models\.mine.*{re.escape(named)}"):
        capabilities("gpt-4o", overrides={"mine": entry})
    with pytest.raises(InvalidSettings, match=rf"models\.mine.*{re.escape(named)}"):
        Settings(models={"mine": entry})


def test_the_settings_file_may_describe_models(tmp_path: Path) -> None:
    """A table per model, with the name in quotes where it has dots or colons."""
    toml = '[models."my-model:7b"]\ncontext = 32000\ntokenizer = "llama3"\n'
    (tmp_path / "engram.toml").write_text(toml, encoding="utf-8")

    loaded = Settings.load(environment={"ENGRAM_HOME": str(tmp_path)})
    found = capabilities("my-model:7b-q4", overrides=loaded.models)

    assert (found.context_window, found.tokenizer) == (32_000, "llama3")


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda one: one.name)
def test_every_entry_is_sound(entry: Capabilities) -> None:
    """A reply fits its window, the tokenizer exists, and the entry is found by its own name."""
    assert 1_024 <= entry.output_limit <= entry.context_window
    assert entry.tokenizer in known_tokenizers()
    assert capabilities(entry.name) == entry


def test_no_two_entries_have_the_same_words() -> None:
    """The file has as many lines as the registry has entries."""
    lines = re.findall(r"(?m)^  \{ name = ", MODELS_PATH.read_text("utf-8"))

    assert len(lines) == len(ENTRIES) > 150


def test_the_main_vendors_are_there() -> None:
    """Those that people name first, and what they run at home."""
    vendors = {entry.vendor for entry in ENTRIES}

    assert {
        "anthropic",
        "openai",
        "google",
        "mistral",
        "meta",
        "qwen",
        "deepseek",
        "xai",
        "cohere",
    } <= vendors
    assert {"microsoft", "local"} <= vendors


@settings(max_examples=40)
@given(
    st.text(max_size=40)
    | st.sampled_from([one.name for one in ENTRIES]).map(lambda name: name.upper() + "-x")
)
def test_any_name_has_an_answer(name: str) -> None:
    """No name is an error, and none has a reply beyond its window."""
    found = capabilities(name)

    assert found.name == name
    assert 0 < found.output_limit <= found.context_window
