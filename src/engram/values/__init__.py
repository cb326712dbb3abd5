"""
The nouns of Engram: frozen, without I/O and without a clock.

Every room speaks in these; they import nothing but `errors`. `docs/concepts/words.md` explains each.
"""

from engram.values.aging import AgeReport, Census, Change, Forecast, Importance, Moved, Outlook, Tier
from engram.values.box import Box
from engram.values.dream import DreamChange, DreamReport, StepOutcome, StepReport
from engram.values.edge import Edge, EdgeType, check_edge
from engram.values.entity import Entity, EntityType, Mention
from engram.values.event import Action, AuditEvent, HistoryEvent
from engram.values.gap import Gap, GapKind
from engram.values.ids import MemoryId, TurnId, new_id
from engram.values.memory import (
    CATEGORIES,
    AccessLog,
    Affect,
    ConfidenceTier,
    Detail,
    Kind,
    Layer,
    Memory,
    MemoryType,
    Provenance,
    SecurityTier,
    Source,
    Traits,
)
from engram.values.profile import EntityProfile
from engram.values.query import Filters, Mode, Query
from engram.values.recall import Hit, Level, Missing, Quality, Reason, Recall, Trust
from engram.values.report import Check, DoctorReport, PartHealth, StatusReport
from engram.values.scope import GLOBAL, Scope
from engram.values.space import EmbedderIdentity
from engram.values.status import Actor, ActorKind, Status, check_move
from engram.values.timeline import BusyPeriod, KnowledgeChange, Timeline, TimelineEntry
from engram.values.turn import Role, Turn

__all__ = [
    "CATEGORIES",
    "GLOBAL",
    "AccessLog",
    "Action",
    "Actor",
    "ActorKind",
    "Affect",
    "AgeReport",
    "AuditEvent",
    "Box",
    "BusyPeriod",
    "Census",
    "Change",
    "Check",
    "ConfidenceTier",
    "Detail",
    "DoctorReport",
    "DreamChange",
    "DreamReport",
    "Edge",
    "EdgeType",
    "EmbedderIdentity",
    "Entity",
    "EntityProfile",
    "EntityType",
    "Filters",
    "Forecast",
    "Gap",
    "GapKind",
    "HistoryEvent",
    "Hit",
    "Importance",
    "Kind",
    "KnowledgeChange",
    "Layer",
    "Level",
    "Memory",
    "MemoryId",
    "MemoryType",
    "Mention",
    "Missing",
    "Mode",
    "Moved",
    "Outlook",
    "PartHealth",
    "Provenance",
    "Quality",
    "Query",
    "Reason",
    "Recall",
    "Role",
    "Scope",
    "SecurityTier",
    "Source",
    "Status",
    "StatusReport",
    "StepOutcome",
    "StepReport",
    "Tier",
    "Timeline",
    "TimelineEntry",
    "Traits",
    "Trust",
    "Turn",
    "TurnId",
    "check_edge",
    "check_move",
    "new_id",
]
