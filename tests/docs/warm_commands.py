"""
Start commands from a process that has imported Engram already: the guides have eighty of them.

Used by the tests of the guides' shell blocks. `serve` imports once and forks for every command, which then
has its own arguments, folder, environment and streams as any other; `shim` writes the `engram` that the
shell finds, which hands those over and waits. How a cold start behaves is tested in tests/cli.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

LONGEST = 1_000_000


def shim(folder: Path, address: Path) -> None:
    """Write the command into a folder."""
    script = f"""
        #!{sys.executable} -SE
        import json, os, socket, sys
        line = socket.socket(socket.AF_UNIX)
        line.connect({str(address)!r})
        told = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
        socket.send_fds(line, [told], [0, 1, 2])
        line.shutdown(socket.SHUT_WR)
        sys.exit(int(line.recv(16) or b"70"))
    """
    command = folder / "engram"
    command.write_text(textwrap.dedent(script).lstrip(), encoding="utf-8")
    command.chmod(0o755)


def serve(address: str) -> None:
    """Take orders until the process is ended."""
    import engramdb.capture.writer  # noqa: PLC0415 - the point of it: once, before any fork
    import engramdb.engine.engram  # noqa: PLC0415 - as above
    import engramdb.engine.status  # noqa: PLC0415 - as above
    import engramdb.lifecycle.service  # noqa: PLC0415 - as above
    import engramdb.recall.service  # noqa: F401, PLC0415 - as above
    from engramdb.cli.main import run  # noqa: PLC0415

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    door = socket.socket(socket.AF_UNIX)
    door.bind(address)
    door.listen()
    print("ready", flush=True)  # noqa: T201
    while True:
        line, _ = door.accept()
        if os.fork() == 0:
            door.close()
            _obey(line, run)
        line.close()


def _obey(line: socket.socket, run: object) -> None:
    """Be the command that the other side of the line asked for."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    told, streams, _, _ = socket.recv_fds(line, LONGEST, 3)
    arguments, folder, environment = json.loads(told)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(number, mode, encoding="utf-8", closefd=False) for number, mode in enumerate("rww")
    )
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["engram", *arguments]
    code: object = 0
    try:
        assert callable(run)
        run()
    except SystemExit as end:
        code = end.code
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    line.send(str(code if isinstance(code, int) else 1 if code else 0).encode())
    os._exit(0)


if __name__ == "__main__":
    serve(sys.argv[1])
