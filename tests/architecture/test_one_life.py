"""One life: only `lifecycle` changes a memory, and only `lifecycle.transitions` writes its row."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import engramdb

SOURCE = Path(engramdb.__file__).parent
WRITER = "lifecycle/transitions.py"
WRITES = {
    "memories": {"add", "replace", "blank", "mark_enriched"},
    "history": {"add"},
    "edges": {"add", "add_all", "remove"},
    "terms": {"put", "remove"},
    "vectors": {"put", "remove"},
    "dreams": {"add_merge", "undo_merge", "redo_merge"},
}
"""What changes a memory or what belongs to it, by the table of a transaction."""
ALLOWED = {
    ("index/rebuild.py", "terms.put"),  # indexes that are built again from rows that do not change
    ("index/rebuild.py", "vectors.put"),
    ("lifecycle/merging.py", "dreams.add_merge"),
    ("lifecycle/merging.py", "dreams.undo_merge"),
    ("lifecycle/merging.py", "dreams.redo_merge"),
}
COPIES = {"evolve", "replace"}
"""How a value is copied with other fields."""


def writes(tree: ast.AST) -> Iterator[str]:
    """Every use of a method that writes a memory, its history, links or indexes, under whatever name."""
    tables = aliases(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            table = table_of(node.value, tables)
            if table is not None and node.attr in WRITES[table]:
                yield f"{table}.{node.attr}"


def table_of(node: ast.expr, tables: dict[str, str]) -> str | None:
    """The table that an expression stands for: `tx.memories`, a name for it, `getattr(tx, "memories")`."""
    match node:
        case ast.Attribute(attr=name) if name in WRITES:
            return name
        case ast.Name(id=name):
            return tables.get(name)
        case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str(name)), *_]):
            return name if name in WRITES else None
    return None


def aliases(tree: ast.AST) -> dict[str, str]:
    """Local names for a table: `rows = tx.memories`."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.NamedExpr | ast.AnnAssign) and node.value is not None:
            table = table_of(node.value, {})
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if table is not None:
                found |= {target.id: table for target in targets if isinstance(target, ast.Name)}
    return found


def status_changes(tree: ast.AST) -> Iterator[str]:
    """Every copy of a value under another status: `memory.evolve(status=…)`, `replace(memory, status=…)`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and any(keyword.arg == "status" for keyword in node.keywords):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in COPIES:
                yield f"{name}(status=…) in line {node.lineno}"


def modules() -> Iterator[tuple[str, ast.AST]]:
    """Every module of ours outside the store, which is where rows are written in the end."""
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        if not name.startswith("store/"):
            yield name, ast.parse(path.read_text(encoding="utf-8"))


def test_only_the_writer_of_transitions_writes_memories() -> None:
    """Rows, history, links and index entries of memories are written together, in one module."""
    elsewhere = {(name, write) for name, tree in modules() if name != WRITER for write in writes(tree)}

    assert elsewhere == ALLOWED


def test_only_lifecycle_changes_a_status() -> None:
    """Whoever wants a memory superseded, merged or forgotten asks `lifecycle` for it."""
    changes = [
        f"{name}: {change}"
        for name, tree in modules()
        if not name.startswith("lifecycle/")
        for change in status_changes(tree)
    ]

    assert changes == []


@pytest.mark.parametrize(
    "line",
    [
        "tx.memories.replace(memory)",
        "writing.tx.memories.add(memory, fingerprint=mark)",
        "rows = tx.memories\nrows.replace(memory)",
        "(rows := tx.memories).blank(1)\nrows.blank(1)",
        "list(map(tx.memories.replace, changed))",
        "getattr(tx, 'memories').replace(memory)",
        "tx.history.add(event)",
        "tx.edges.add_all(edges)",
        "tx.vectors.remove(key)",
    ],
)
def test_the_look_finds_a_write_however_it_is_spelled(line: str) -> None:
    """A new write elsewhere fails the test above."""
    assert list(writes(ast.parse(line)))


@pytest.mark.parametrize(
    "line", ["memory.evolve(status=Status.ACTIVE)", "replace(memory, status=Status.MERGED, pinned=True)"]
)
def test_the_look_finds_a_change_of_status(line: str) -> None:
    """A new change of status elsewhere fails the test above."""
    assert list(status_changes(ast.parse(line)))


@pytest.mark.parametrize(
    "line", ["tx.memories.get(one)", "seen.add(one)", "tx.turns.add(turn)", "reply(status=200)"]
)
def test_the_look_leaves_reads_and_other_tables_alone(line: str) -> None:
    """Reading a memory, or writing a turn, is everybody's affair."""
    assert not [*writes(ast.parse(line)), *status_changes(ast.parse(line))]
