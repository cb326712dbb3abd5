"""Which models and indexes there are, as the settings say."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from engramdb.clock import Clock
from engramdb.errors import EmbeddingError, MissingExtra, StorageError
from engramdb.models.calibration import Likeness
from engramdb.models.e5 import NAME
from engramdb.models.embedder import AbsentEmbedder, Embedder
from engramdb.models.registry import Endpoint, open_embedder
from engramdb.models.static import StatementEmbedder, StaticEmbedder
from engramdb.settings import Settings
from engramdb.store.contract import Store
from engramdb.values import Action, AuditEvent

if TYPE_CHECKING:
    from engramdb.index.foreign import ForeignBackend, ProposesRows


def audited_index(given: ProposesRows | None, store: Store, clock: Clock) -> ForeignBackend | None:
    """Return a caller's own index; what it is given is audited, from its own thread."""
    if given is None:
        return None
    from engramdb.index.foreign import ForeignBackend  # noqa: PLC0415 - few bring an index of their own

    def audit(action: str, counts: Mapping[str, int]) -> None:
        event = AuditEvent(at=clock.now(), action=Action.FOREIGN_INDEX, detail={"what": action, **counts})
        with suppress(StorageError), store.atomic() as tx:  # a closed or full store must not end the index
            tx.audit.add(event)

    return ForeignBackend(given, audit=audit, clock=clock)


def older_embedders(settings: Settings) -> list[Embedder]:
    """Return the embedders that memories may have been embedded with before; opening one reads nothing."""
    found: list[Embedder] = []
    with suppress(EmbeddingError, MissingExtra):
        found.append(open_embedder(NAME, settings.home))
    return [*found, StaticEmbedder()]


def statement_likeness() -> Likeness:
    """Return what compares statements without regard to how the store is embedded."""
    embedder = StatementEmbedder(StaticEmbedder())
    return Likeness(embedder)


def chosen_embedder(settings: Settings) -> Embedder:
    """Return the embedder, or one that says why there is none: a store opens without it."""
    endpoint = Endpoint(
        url=settings.embedder_url,
        api_key=settings.embedder_key or None,
        timeout_seconds=settings.embedder_timeout_seconds,
    )
    try:
        return open_embedder(
            settings.embedder, settings.home, endpoint=endpoint if settings.embedder_url else None
        )
    except (EmbeddingError, MissingExtra) as exc:
        return AbsentEmbedder(exc)
