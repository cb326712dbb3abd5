"""
The room `context`, as the verb `context` uses it.

Imported by `contexts` inside its functions, so that the room is loaded when a window is first made and not
with the engine: of the commands of a shell, one makes windows.
"""

from engram.context.budget import room_for
from engram.context.build import build
from engram.context.desk import Asked, Sources
from engram.context.exchanges import heard
from engram.context.measure import Measure
from engram.context.standing import StandingMemories
from engram.context.summary import ModelSummaries

__all__ = [
    "Asked",
    "Measure",
    "ModelSummaries",
    "Sources",
    "StandingMemories",
    "build",
    "heard",
    "room_for",
]
