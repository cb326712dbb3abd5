"""
What every test stands on: a home of its own, a store of its own, a clock that it moves.

Nothing of the machine's own Engram is read or written: HOME and every ENGRAM_ variable are set aside.
"""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from engramdb import Engram
from engramdb.errors import EmbeddingError
from engramdb.models.packs import add_pack
from engramdb.testing import ManualClock, TinyEmbedder

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
if str(ROOT) not in sys.path:  # `evals` is not installed, and only `python -m pytest` would find it
    sys.path.insert(0, str(ROOT))

# Child processes run the code of this checkout, whichever one is installed.
os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])

# Hundreds of commands are started: without compiled modules each would take twice as long.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ.setdefault("PYTHONPYCACHEPREFIX", str(ROOT / ".cache" / "pycache"))
sys.dont_write_bytecode = False  # the tests themselves are compiled once too, and not by every process

# Commands show times by the reader's clock; the reader of the tests lives in UTC.
os.environ["TZ"] = "UTC"
if hasattr(time, "tzset"):
    time.tzset()

# A background job (`make test &`, nohup) is started with Ctrl-C ignored, and so is all that it starts. A
# handler is reset when another program is started: Ctrl-C does nothing here, as before, and works there.
is_main = threading.current_thread() is threading.main_thread()
if is_main and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, lambda _number, _frame: None)

gc.disable()  # until the tests are collected: what is imported stays, and need not be looked through


def pytest_collection_finish() -> None:
    """Look for garbage again. Not frozen: a test looks through the caches of the process."""
    gc.enable()


settings.register_profile(
    "engram",
    deadline=None,  # a busy machine is not a bug
    max_examples=25 if "CI" in os.environ else 60,
    derandomize="CI" in os.environ,  # the gate must not depend on luck; searching goes on at every desk
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    print_blob=True,
)
settings.load_profile("engram")


@pytest.fixture(autouse=True)
def own_home(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty home folder; the user's own is never seen."""
    home = tmp_path_factory.mktemp("home")
    browsers = Path.home() / ".cache" / "ms-playwright"
    for name in [name for name in os.environ if name.startswith("ENGRAM_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", os.environ.get("PLAYWRIGHT_BROWSERS_PATH", str(browsers)))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.setenv("ENGRAM_HOME", str(home / ".engram"))
    return home


@pytest.fixture(scope="session")
def e5_home() -> Path:
    """The home with the real model pack, built once for all test runs of this checkout."""
    pytest.importorskip("onnxruntime", reason="the extra `models` is not installed")
    pytest.importorskip("onnx", reason="the extra `models` is not installed")
    home = ROOT / ".cache" / "engram-test-home"
    try:
        add_pack("e5-small", home)
    except EmbeddingError as error:
        pytest.skip(f"the model pack could not be built: {error}")
    return home


@pytest.fixture
def collector_at_rest() -> Iterator[None]:
    """For tests that measure: looking through what thousands of others left takes a second by itself."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def store_path(tmp_path: Path) -> Path:
    """Where the test's store will be."""
    return tmp_path / "memory.db"


@pytest.fixture
def clock() -> ManualClock:
    """A clock that stands still until the test moves it."""
    return ManualClock()


@pytest.fixture
def embedder() -> TinyEmbedder:
    """An embedder that needs no file and fails when told to."""
    return TinyEmbedder()


@pytest.fixture
def engram(store_path: Path, clock: ManualClock, embedder: TinyEmbedder) -> Iterator[Engram]:
    """An open memory without background threads, closed after the test."""
    with Engram.open(store_path, clock=clock, embedder=embedder, background=False) as opened:
        yield opened


class RunChild:
    """Runs scripts in processes of their own, which may do what would harm the test process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, script: str, *arguments: object, timeout_seconds: float = 120) -> str:
        """Return the script's output; fails with its errors if it fails."""
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)],
            cwd=self._folder,
            capture_output=True,
            text=True,
            timeout=timeout_seconds,
            check=False,
        )
        assert done.returncode == 0, done.stderr or f"ended with {done.returncode}"
        return done.stdout.strip()

    def start(self, script: str, *arguments: object) -> subprocess.Popen[str]:
        """Return a process that runs the script, to talk to through its pipes."""
        return subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)],
            cwd=self._folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )


@pytest.fixture
def child(tmp_path: Path) -> RunChild:
    """A function that runs a script in another Python process and returns what it printed."""
    return RunChild(tmp_path)
