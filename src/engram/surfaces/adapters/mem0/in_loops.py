"""
The mem0-shaped memory for programs with an event loop.

Every call is one of `Memory`, in a worker thread, so that the loop goes on. A cancelled call still ends
its write before it returns. There is no second implementation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engram.surfaces.adapters.mem0.memory import Memory
from engram.surfaces.adapters.transcript import in_thread

if TYPE_CHECKING:
    from engram import Engram, Scope


class AsyncMemory:
    """The same as `Memory`, to be awaited."""

    def __init__(self, engram: Engram, *, scope: Scope | None = None) -> None:
        self._memory = Memory(engram, scope=scope)

    async def add(self, messages: Any, **options: Any) -> dict[str, Any]:
        """Take in a text or messages, and return what became of them."""
        return await in_thread(self._memory.add, messages, **options)

    async def search(self, query: str, **options: Any) -> dict[str, Any]:
        """Return the memories that fit a question, best first."""
        return await in_thread(self._memory.search, query, **options)

    async def get(self, memory_id: str) -> dict[str, Any] | None:
        """Return one memory, or None."""
        return await in_thread(self._memory.get, memory_id)

    async def get_all(self, **options: Any) -> dict[str, Any]:
        """Return the memories of a user, an agent or a run."""
        return await in_thread(self._memory.get_all, **options)

    async def update(self, memory_id: str, data: str | None = None, **options: Any) -> dict[str, str]:
        """Put other words in the place of a memory, which keeps its id."""
        return await in_thread(self._memory.update, memory_id, data, **options)

    async def delete(self, memory_id: str) -> dict[str, str]:
        """Forget a memory; its history stays."""
        return await in_thread(self._memory.delete, memory_id)

    async def delete_all(self, **options: Any) -> dict[str, str]:
        """Forget everything of a user, an agent or a run."""
        return await in_thread(self._memory.delete_all, **options)

    async def history(self, memory_id: str) -> list[dict[str, Any]]:
        """Return what happened to a memory, oldest first."""
        return await in_thread(self._memory.history, memory_id)

    async def reset(self) -> None:
        """Forget everything that came in through this door, of all users."""
        await in_thread(self._memory.reset)
