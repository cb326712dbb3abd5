"""
Run the command line with `python -m engramdb`, where the script `engram` is not on the path.

Calls `surfaces.cli.main`; a hook goes straight to `surfaces.hooks`, because an agent waits for it at every
prompt and the command line itself would take a third of the time.
"""

from __future__ import annotations

import sys

from engramdb.cli.main import run
from engramdb.hooks.run import run_words

if __name__ == "__main__":
    if sys.argv[1:2] == ["hook"] and "--help" not in sys.argv:
        from engramdb.hooks.run import run_words

        run_words(sys.argv[2:])
    else:
        from engramdb.cli.main import run

        run()
