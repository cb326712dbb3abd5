"""Integrations cost nothing where they are not used, and say what is missing where they cannot be."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import RunChild

USE = """
    import sys
    from engramdb import Engram
    import engramdb.integrations
    from engramdb.integrations.mem0 import Memory
    with Engram.open(sys.argv[1], background=False) as engram:
        engram.documents.put(("a",), "b", {"c": 1}, text="Maya drinks tea")
        engram.documents.search("tea")
        Memory(engram).add("I live in Berlin.", user_id="maya")
    heavy = {"langgraph", "langchain_core", "agents", "openai", "llama_index", "pydantic_ai", "pydantic"}
    heavy |= {"crewai"}
    print(sorted(heavy & set(sys.modules)))
"""

MISSING = """
    import sys
    from engramdb import EngramError
    for package in ("langgraph", "agents", "llama_index", "pydantic_ai", "crewai"):
        sys.modules[package] = None
    for name in ("langgraph", "openai_agents", "llamaindex", "pydantic_ai", "crewai"):
        try:
            __import__(f"engramdb.integrations.{name}")
        except EngramError as error:
            print(error.code, error.hint)
"""


def test_using_engram_imports_no_framework(child: RunChild, store_path: Path) -> None:
    """Neither the document store nor the mem0-shaped integration needs any other package."""
    assert child(USE, store_path) == "[]"


def test_an_adapter_without_its_package_names_the_extra(child: RunChild) -> None:
    """The error says what to install."""
    extras = ("langgraph", "openai-agents", "llamaindex", "pydantic-ai", "crewai")

    told = child(MISSING).splitlines()

    assert told == [f"E5009 pip install 'engramdb[{name}]'" for name in extras]
