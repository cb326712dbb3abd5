"""
The nouns of Engram: frozen, without I/O and without a clock.

Every room speaks in these; they import nothing but `errors`. `docs/concepts/words.md` explains each.
A noun is loaded when it is first used: to make all of these classes takes as long as most commands run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.late import homes_of, names_of

if TYPE_CHECKING:
    from engram.values.aging import (
        AgeReport as AgeReport,
        Census as Census,
        Change as Change,
        Forecast as Forecast,
        Importance as Importance,
        Moved as Moved,
        Outlook as Outlook,
        Tier as Tier,
    )
    from engram.values.attention import (
        Item as Item,
        Restored as Restored,
        Slot as Slot,
        SlotSource as SlotSource,
        TopicShift as TopicShift,
        WorkingMemory as WorkingMemory,
    )
    from engram.values.box import (
        Box as Box,
    )
    from engram.values.dream import (
        DreamChange as DreamChange,
        DreamReport as DreamReport,
        StepOutcome as StepOutcome,
        StepReport as StepReport,
    )
    from engram.values.edge import (
        Edge as Edge,
        EdgeType as EdgeType,
        check_edge as check_edge,
    )
    from engram.values.entity import (
        Entity as Entity,
        EntityType as EntityType,
        Mention as Mention,
    )
    from engram.values.erasure import (
        Erasure as Erasure,
    )
    from engram.values.event import (
        Action as Action,
        AuditEvent as AuditEvent,
        HistoryEvent as HistoryEvent,
    )
    from engram.values.gap import (
        Gap as Gap,
        GapKind as GapKind,
    )
    from engram.values.health import (
        PartHealth as PartHealth,
        SchedulerState as SchedulerState,
    )
    from engram.values.ids import (
        MemoryId as MemoryId,
        TurnId as TurnId,
        new_id as new_id,
    )
    from engram.values.imports import (
        ImportKind as ImportKind,
        ImportOrigin as ImportOrigin,
        ImportReport as ImportReport,
        Refusal as Refusal,
    )
    from engram.values.insight import (
        Breadth as Breadth,
        Certainty as Certainty,
        Confidence as Confidence,
        Domain as Domain,
        Summary as Summary,
    )
    from engram.values.memory import (
        CATEGORIES as CATEGORIES,
        AccessLog as AccessLog,
        Affect as Affect,
        ConfidenceTier as ConfidenceTier,
        Detail as Detail,
        Kind as Kind,
        Layer as Layer,
        Memory as Memory,
        MemoryType as MemoryType,
        Provenance as Provenance,
        SecurityTier as SecurityTier,
        Source as Source,
        Traits as Traits,
    )
    from engram.values.notebook import (
        Exported as Exported,
        NotebookAct as NotebookAct,
        NotebookChange as NotebookChange,
        NotebookReport as NotebookReport,
    )
    from engram.values.profile import (
        EntityProfile as EntityProfile,
    )
    from engram.values.query import (
        Filters as Filters,
        Mode as Mode,
        Query as Query,
    )
    from engram.values.reasoning import (
        EvidenceItem as EvidenceItem,
        EvidenceNode as EvidenceNode,
        Judgement as Judgement,
        ModelCall as ModelCall,
        Origin as Origin,
        Reasoned as Reasoned,
        Sufficiency as Sufficiency,
    )
    from engram.values.recall import (
        Hit as Hit,
        Level as Level,
        Missing as Missing,
        Quality as Quality,
        Reason as Reason,
        Recall as Recall,
        Trust as Trust,
    )
    from engram.values.report import (
        Backup as Backup,
        Check as Check,
        DoctorReport as DoctorReport,
        IndexReport as IndexReport,
        StatusReport as StatusReport,
    )
    from engram.values.scope import (
        GLOBAL as GLOBAL,
        Scope as Scope,
    )
    from engram.values.shelf import (
        Putting as Putting,
        Removing as Removing,
        Said as Said,
        ShelfHit as ShelfHit,
        ShelfItem as ShelfItem,
    )
    from engram.values.space import (
        EmbedderIdentity as EmbedderIdentity,
    )
    from engram.values.status import (
        BELIEVED as BELIEVED,
        Actor as Actor,
        ActorKind as ActorKind,
        Status as Status,
        check_move as check_move,
    )
    from engram.values.timeline import (
        BusyPeriod as BusyPeriod,
        KnowledgeChange as KnowledgeChange,
        Timeline as Timeline,
        TimelineEntry as TimelineEntry,
    )
    from engram.values.turn import (
        Role as Role,
        Turn as Turn,
    )
    from engram.values.window import (
        ChatMessage as ChatMessage,
        DetailLevel as DetailLevel,
        Fate as Fate,
        Held as Held,
        Loss as Loss,
        Section as Section,
        SectionName as SectionName,
        Window as Window,
        WorkingLine as WorkingLine,
    )

_NOUNS = {
    "aging": "AgeReport Census Change Forecast Importance Moved Outlook Tier",
    "attention": "Item Restored Slot SlotSource TopicShift WorkingMemory",
    "box": "Box",
    "dream": "DreamChange DreamReport StepOutcome StepReport",
    "edge": "Edge EdgeType check_edge",
    "entity": "Entity EntityType Mention",
    "erasure": "Erasure",
    "event": "Action AuditEvent HistoryEvent",
    "gap": "Gap GapKind",
    "health": "PartHealth SchedulerState",
    "ids": "MemoryId TurnId new_id",
    "imports": "ImportKind ImportOrigin ImportReport Refusal",
    "insight": "Breadth Certainty Confidence Domain Summary",
    "memory": (
        "CATEGORIES AccessLog Affect ConfidenceTier Detail Kind Layer Memory MemoryType Provenance "
        "SecurityTier Source Traits"
    ),
    "notebook": "Exported NotebookAct NotebookChange NotebookReport",
    "profile": "EntityProfile",
    "query": "Filters Mode Query",
    "reasoning": "EvidenceItem EvidenceNode Judgement ModelCall Origin Reasoned Sufficiency",
    "recall": "Hit Level Missing Quality Reason Recall Trust",
    "report": "Backup Check DoctorReport IndexReport StatusReport",
    "scope": "GLOBAL Scope",
    "shelf": "Putting Removing Said ShelfHit ShelfItem",
    "space": "EmbedderIdentity",
    "status": "BELIEVED Actor ActorKind Status check_move",
    "timeline": "BusyPeriod KnowledgeChange Timeline TimelineEntry",
    "turn": "Role Turn",
    "window": "ChatMessage DetailLevel Fate Held Loss Section SectionName Window WorkingLine",
}
"""Where each noun stands. A test holds this to what is imported above for types."""
_HOMES = homes_of(_NOUNS)

if not TYPE_CHECKING:  # with this in sight a checker would take any name for one that is there
    __getattr__ = names_of(__name__, _NOUNS)


def __dir__() -> list[str]:
    return sorted(_HOMES)
