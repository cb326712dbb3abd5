"""A field of a memory is its declaration and a column: what stores, shows and moves memories follows."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import engramdb

SOURCE = Path(engramdb.__file__).parent
MIGRATION = '''"""Add the color that somebody sees when they think of it."""

import apsw


def up(connection: apsw.Connection) -> None:
    """Add the column."""
    connection.execute("ALTER TABLE memories ADD COLUMN color TEXT")
'''
STORY = """
import json, sys
from pathlib import Path
from starlette.testclient import TestClient
from click.testing import CliRunner
from engramdb import Engram, Settings
from engramdb.cli.main import application
from engramdb.http.app import create_app
from engramdb.testing import TinyEmbedder

home = Path(sys.argv[1])
settings = Settings(home=home, embedder="static")
told = {}
with Engram.open(settings=settings, background=False) as engram:
    memory = engram.remember("Ada plays the cello")
    with engram._parts.store.atomic() as tx:
        tx.memories.replace(memory.evolve(color="green"))
    told["python"] = engram.get(memory.id).color
    client = TestClient(create_app(engram), base_url="http://127.0.0.1:7070")
    told["http"] = client.get(f"/v1/memories/{memory.id}").json()["color"]
    schemas = client.get("/openapi.json").json()["components"]["schemas"]
    told["openapi"] = schemas["Memory"]["properties"]["color"]
run = CliRunner().invoke
told["cli"] = json.loads(run(application(), ["get", memory.id, "--json"]).stdout)["color"]
exported = home / "all.jsonl"
run(application(), ["export", str(exported)])
told["export"] = json.loads(exported.read_text().splitlines()[0])["color"]
print(json.dumps(told))
"""


def changed_copy(folder: Path) -> Path:
    """Copy the package and add a field: three files, the value, its migration and the list of them."""
    package = folder / "engramdb"
    shutil.copytree(SOURCE, package, ignore=shutil.ignore_patterns("__pycache__"))
    value = package / "values" / "memory.py"
    value.write_text(_with_field(value.read_text(encoding="utf-8")), encoding="utf-8")
    migrations = package / "store" / "sqlite" / "migrations"
    (migrations / "m999_color.py").write_text(MIGRATION, encoding="utf-8")
    listed = migrations / "__init__.py"
    text = listed.read_text(encoding="utf-8").replace(
        "\nMIGRATIONS = (", "\nfrom engramdb.store.sqlite.migrations import m999_color\n\nMIGRATIONS = ("
    )
    end = text.index("\n)", text.index("MIGRATIONS = ("))
    listed.write_text(f"{text[:end]}\n    m999_color,{text[end:]}", encoding="utf-8")
    return folder


def _with_field(text: str) -> str:
    old = "    box: str | None = None\n"
    assert text.count(old) == 1
    return text.replace(old, f'    color: str | None = None\n    """What it looks like."""\n{old}')


def test_three_files_carry_a_new_field_everywhere(tmp_path: Path) -> None:
    """The store keeps it; the library, the command line, HTTP with its description, and exports show it."""
    home = tmp_path / "home"
    home.mkdir()
    environment = os.environ | {
        "PYTHONPATH": str(changed_copy(tmp_path / "copy")),
        "ENGRAM_HOME": str(home),
        "ENGRAM_EMBEDDER": "static",
    }

    done = subprocess.run(
        [sys.executable, "-c", STORY, str(home)],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        cwd=tmp_path,
    )

    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert [told[name] for name in ("python", "http", "cli", "export")] == ["green"] * 4
    assert told["openapi"]["description"] == "What it looks like."
