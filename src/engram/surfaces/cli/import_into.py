"""
Open the store that an import goes into, and make one only for something that can be kept in it.

Called by `engram import`; calls `portability` to look for a first record. A mistyped file, a file of no known
kind and a dry run leave no empty store behind: where there is none, they are looked at in a store that is
thrown away, so that the report is the same.
"""

from __future__ import annotations

import tempfile
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from engram.errors import StoreNotFound
from engram.surfaces.cli.loading import engine

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from engram.engine.engram import Engram
    from engram.surfaces.cli.options import Shared
    from engram.values import ImportKind


@contextmanager
def opened_for(
    shared: Shared,
    source: Path,
    *,
    kind: ImportKind | None,
    mapping: Mapping[str, str],
    dry_run: bool,
) -> Iterator[Engram]:
    """Yield the store; where there is none, a new one for what comes in, or else one for the moment."""
    with ExitStack() as stack:
        try:
            engram = shared.open_existing()
        except StoreNotFound:
            is_worth_one = not dry_run and has_records(source, kind=kind, mapping=mapping)
            engram = shared.open_or_create() if is_worth_one else _for_the_moment(shared, stack)
        yield stack.enter_context(engram)


def has_records(source: Path, *, kind: ImportKind | None, mapping: Mapping[str, str]) -> bool:
    """Say whether anything in a source can be read, looking no further than the first that can."""
    from engram.portability.read import read_source  # noqa: PLC0415 - loads every importer
    from engram.portability.record import Broken, LeftOut  # noqa: PLC0415

    with closing(read_source(source, kind=kind, mapping=mapping)) as found:
        return any(not isinstance(record, Broken | LeftOut) for _, record in found)


def _for_the_moment(shared: Shared, stack: ExitStack) -> Engram:
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="engram-"))
    settings = replace(shared.settings(), store=str(Path(folder) / "memory.db"))
    return engine().open(settings=settings, scope=shared.scope, background=False)
