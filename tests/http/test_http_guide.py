"""The requests of docs/guides/http.md do what the guide says, with curl, against a real server."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from surfaces.serving import serving

if TYPE_CHECKING:
    from engramdb import Engram

GUIDE = Path(__file__).parents[2] / "docs/guides/http.md"
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl on PATH")
def test_the_requests_of_the_guide_work_in_their_order(engine: Engram, tmp_path: Path) -> None:
    """A reader who pastes them one after the other meets no error, and the store holds what they said."""
    blocks = BLOCK.findall(GUIDE.read_text(encoding="utf-8"))
    script = "set -euo pipefail\n" + "\n".join(blocks)

    with serving(engine) as server:
        done = subprocess.run(
            ["bash", "-c", script],
            check=False,
            cwd=tmp_path,
            env={"PATH": "/usr/local/bin:/usr/bin:/bin", "ENGRAM": server.url.rstrip("/")},
            capture_output=True,
            text=True,
            timeout=60,
        )

    assert done.returncode == 0, done.stderr + done.stdout[-500:]
    assert len(blocks) >= 8
    stored = [memory.content for memory in engine.list()]
    assert {"Maya is allergic to peanuts", "The server runs Debian 13"} <= set(stored)
    assert not any("Debian 12" in content or "oven" in content for content in stored)
