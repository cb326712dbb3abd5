"""
The nouns of Engram: frozen, without I/O and without a clock.

Every room speaks in these; they import nothing but `errors`. `docs/concepts/words.md` explains each.
"""

from engram.values.aging import AgeReport, Census, Change, Forecast, Importance, Moved, Outlook, Tier
from engram.values.attention import Item, Restored, Slot, SlotSource, TopicShift, WorkingMemory
from engram.values.box import Box
from engram.values.dream import DreamChange, DreamReport, StepOutcome, StepReport
from engram.values.edge import Edge, EdgeType, check_edge
from engram.values.entity import Entity, EntityType, Mention
from engram.values.erasure import Erasure
from engram.values.event import Action, AuditEvent, HistoryEvent
from engram.values.gap import Gap, GapKind
from engram.values.ids import MemoryId, TurnId, new_id
from engram.values.imports import ImportKind, ImportOrigin, ImportReport, Refusal
from engram.values.insight import Breadth, Certainty, Confidence, Domain, Summary
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
from engram.values.reasoning import (
    EvidenceItem,
    EvidenceNode,
    Judgement,
    ModelCall,
    Origin,
    Reasoned,
    Sufficiency,
)
from engram.values.recall import Hit, Level, Missing, Quality, Reason, Recall, Trust
from engram.values.report import Check, DoctorReport, IndexReport, PartHealth, SchedulerState, StatusReport
from engram.values.scope import GLOBAL, Scope
from engram.values.space import EmbedderIdentity
from engram.values.status import Actor, ActorKind, Status, check_move
from engram.values.timeline import BusyPeriod, KnowledgeChange, Timeline, TimelineEntry
from engram.values.turn import Role, Turn
from engram.values.window import (
    ChatMessage,
    DetailLevel,
    Fate,
    Held,
    Loss,
    Section,
    SectionName,
    Window,
    WorkingLine,
)

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
    "Breadth",
    "BusyPeriod",
    "Census",
    "Certainty",
    "Change",
    "ChatMessage",
    "Check",
    "Confidence",
    "ConfidenceTier",
    "Detail",
    "DetailLevel",
    "DoctorReport",
    "Domain",
    "DreamChange",
    "DreamReport",
    "Edge",
    "EdgeType",
    "EmbedderIdentity",
    "Entity",
    "EntityProfile",
    "EntityType",
    "Erasure",
    "EvidenceItem",
    "EvidenceNode",
    "Fate",
    "Filters",
    "Forecast",
    "Gap",
    "GapKind",
    "Held",
    "HistoryEvent",
    "Hit",
    "ImportKind",
    "ImportOrigin",
    "ImportReport",
    "Importance",
    "IndexReport",
    "Item",
    "Judgement",
    "Kind",
    "KnowledgeChange",
    "Layer",
    "Level",
    "Loss",
    "Memory",
    "MemoryId",
    "MemoryType",
    "Mention",
    "Missing",
    "Mode",
    "ModelCall",
    "Moved",
    "Origin",
    "Outlook",
    "PartHealth",
    "Provenance",
    "Quality",
    "Query",
    "Reason",
    "Reasoned",
    "Recall",
    "Refusal",
    "Restored",
    "Role",
    "SchedulerState",
    "Scope",
    "Section",
    "SectionName",
    "SecurityTier",
    "Slot",
    "SlotSource",
    "Source",
    "Status",
    "StatusReport",
    "StepOutcome",
    "StepReport",
    "Sufficiency",
    "Summary",
    "Tier",
    "Timeline",
    "TimelineEntry",
    "TopicShift",
    "Traits",
    "Trust",
    "Turn",
    "TurnId",
    "Window",
    "WorkingLine",
    "WorkingMemory",
    "check_edge",
    "check_move",
    "new_id",
]
