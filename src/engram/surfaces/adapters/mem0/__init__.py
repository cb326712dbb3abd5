"""
Engram in the shape of mem0's `Memory`, for programs that were written for it.

`memory` has the calls, `in_loops` the same for event loops; `hearing` reads messages, `whose` says who
is meant by mem0's ids, `shapes` what its dictionaries look like. Needs no other package.
docs/guides/adapters.md names what differs.
"""

from engram.surfaces.adapters.mem0.in_loops import AsyncMemory
from engram.surfaces.adapters.mem0.memory import Memory

__all__ = ["AsyncMemory", "Memory"]
