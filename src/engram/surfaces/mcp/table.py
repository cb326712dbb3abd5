"""
The table of tools: the few that every client is shown, and those that come with `--tools all`.

Read by `server` and by the script that writes the reference. A new tool is a file under `tools` and a
line here. The core is small on purpose: its schemas are in the model's context at every turn, and a
model chooses badly among dozens. Numbers: docs/lab/0025-mcp.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from engram.surfaces.mcp.tools.answer_gap import TOOL as ANSWER_GAP
from engram.surfaces.mcp.tools.confidence import TOOL as CONFIDENCE
from engram.surfaces.mcp.tools.context import TOOL as CONTEXT
from engram.surfaces.mcp.tools.correct import TOOL as CORRECT
from engram.surfaces.mcp.tools.dream import TOOL as DREAM
from engram.surfaces.mcp.tools.entity import TOOL as ENTITY
from engram.surfaces.mcp.tools.feedback import TOOL as FEEDBACK
from engram.surfaces.mcp.tools.forget import TOOL as FORGET
from engram.surfaces.mcp.tools.gaps import TOOL as GAPS
from engram.surfaces.mcp.tools.list import TOOL as LIST
from engram.surfaces.mcp.tools.observe import TOOL as OBSERVE
from engram.surfaces.mcp.tools.pin import TOOL as PIN
from engram.surfaces.mcp.tools.reason import TOOL as REASON
from engram.surfaces.mcp.tools.recall import TOOL as RECALL
from engram.surfaces.mcp.tools.relate import TOOL as RELATE
from engram.surfaces.mcp.tools.remember import TOOL as REMEMBER
from engram.surfaces.mcp.tools.restore import TOOL as RESTORE
from engram.surfaces.mcp.tools.status import TOOL as STATUS
from engram.surfaces.mcp.tools.timeline import TOOL as TIMELINE

if TYPE_CHECKING:
    from engram.surfaces.mcp.tool import Tool

CORE: Final[tuple[Tool, ...]] = (
    REMEMBER,
    RECALL,
    CONTEXT,
    CORRECT,
    FORGET,
    FEEDBACK,
    LIST,
)
ALL: Final[tuple[Tool, ...]] = (
    *CORE,
    TIMELINE,
    ENTITY,
    REASON,
    CONFIDENCE,
    GAPS,
    ANSWER_GAP,
    RELATE,
    PIN,
    RESTORE,
    OBSERVE,
    DREAM,
    STATUS,
)
SETS: Final = {"core": CORE, "all": ALL}
"""The sets by the word that chooses them."""
