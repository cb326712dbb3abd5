"""
Examine a store and its parts, and repair what can be rebuilt.

Canonical data is only looked at; derived data that is wrong is rebuilt when asked.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from msgspec.structs import replace

from engramdb.engine.erasing import check_files
from engramdb.errors import EmbeddingError, EngramError, StorageError
from engramdb.index.rebuild import embed_pending, rebuild
from engramdb.models.embedder import Embedder
from engramdb.store.contract import Store, Transaction
from engramdb.text.normalize import counted
from engramdb.text.terms import TERMS_VERSION
from engramdb.values import Check, DoctorReport
from engramdb.values.report import CANONICAL_CHECKS

_DERIVED = frozenset(
    {
        "text index",
        "text index complete",
        "text index free of the forgotten",
        "vectors free of the forgotten",
        "vectors whole",
        "text index rules",
        "turn index",
        "turn index complete",
        "turn index rules",
        "turns linked",
        "traits",
    }
)

_TABLE = "table "
"""How the check of a damaged table is called."""
REBUILT = "rebuilt every derived index from the memories, and embedded what waited"
EMBEDDED = "embedded what waited"


def examine(
    store: Store, embedder: Embedder, *, fix: bool, progress: Callable[[int], None] | None = None
) -> DoctorReport:
    """Return what was found; with `fix`, rebuild derived data that is wrong and embed what waits."""
    found = _look(store, embedder)
    wrong = {check.name for check in found if not check.ok or check.waits}
    if not fix or not wrong or CANONICAL_CHECKS & wrong or store.unwritable is not None:
        return DoctorReport(checks=tuple(found))
    damaged = [name.removeprefix(_TABLE) for name in wrong if name.startswith(_TABLE)]
    if damaged:
        store.remake(damaged)
    with suppress(EmbeddingError):  # the second look says what could not be mended
        if damaged or wrong & _DERIVED:
            rebuild(store, embedder, progress=progress)
        else:
            embed_pending(store, embedder, progress=progress)
    did = REBUILT if damaged or wrong & _DERIVED else EMBEDDED
    again = _look(store, embedder)
    still = {check.name for check in again}
    again += [
        replace(check, ok=True) if check.name.startswith(_TABLE) else check  # a table that was made again
        for check in found
        if check.name not in still
    ]
    again = [replace(check, ok=False) if check.waits else check for check in again]  # it was to be done now
    return DoctorReport(
        checks=tuple(
            replace(check, repaired=True, did=did) if check.ok and check.name in wrong else check
            for check in again
        )
    )


def _look(store: Store, embedder: Embedder) -> list[Check]:
    found = [*store.check()]
    found += [_guarded(name, store, look) for name, look in _LOOKS.items()]
    found.append(_guarded("files", store, lambda tx: check_files(tx, store)))
    found.append(_try_embedder(embedder))
    if found[-1].ok:
        found.append(_guarded("embedded", store, lambda tx: _check_embedded(tx, embedder)))
    return found


def _guarded(name: str, store: Store, look: Callable[[Transaction], Check]) -> Check:
    """Return what a look found; one that cannot read the store has found damage."""
    try:
        with store.read() as tx:
            return look(tx)
    except StorageError as exc:
        return Check(name=name, ok=False, found=f"{exc.code} {exc.message}")


def _check_traits(tx: Transaction) -> Check:
    wrong = tx.traits.count_wrong()
    return Check(name="traits", ok=not wrong, found=_told(wrong))


def _check_rules(name: str, version: int) -> Check:
    return Check(name=name, ok=version in (0, TERMS_VERSION), found=_rules(version))


def _check_embedded(tx: Transaction, embedder: Embedder) -> Check:
    waiting = tx.vectors.count_pending(tx.vectors.space(embedder.identity))
    return Check(name="embedded", ok=True, found=_waiting(waiting), waits=waiting > 0)


_LOOKS: dict[str, Callable[[Transaction], Check]] = {
    "traits": _check_traits,
    "text index rules": lambda tx: _check_rules("text index rules", tx.terms.version),
    "turn index rules": lambda tx: _check_rules("turn index rules", tx.turn_terms.version),
}


def _rules(version: int) -> str:
    if version in (0, TERMS_VERSION):
        return f"words are cut as this version does, by rules {TERMS_VERSION}"
    return f"words were cut by rules {version}, and this version asks by rules {TERMS_VERSION}"


def _told(wrong: int) -> str:
    if not wrong:
        return "the people, tools and paths to filter by are as the memories say"
    return counted(wrong, "row is not as its memory says", "rows are not as their memories say")


def _waiting(number: int) -> str:
    if not number:
        return "every memory has its vector"
    return counted(number, "memory waits to be embedded", "memories wait to be embedded")


def _try_embedder(embedder: Embedder) -> Check:
    try:
        embedder.embed_queries(["is anybody there?"])
        identity = embedder.identity
    except EngramError as exc:
        return Check(name="embedder", ok=False, found=f"{exc.code} {exc}")
    return Check(
        name="embedder",
        ok=True,
        found=f"{identity.name} answers with {identity.dimension} dimensions, revision {identity.revision}",
    )
