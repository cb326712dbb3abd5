"""
Run the command line with `python -m engramdb`.

A hook goes straight to `hooks`: an agent waits for it at every prompt, and loading the command line would
take a third of the time.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    if sys.argv[1:2] == ["hook"] and "--help" not in sys.argv:
        from engramdb.hooks.run import run_words

        run_words(sys.argv[2:])
    else:
        from engramdb.cli.main import run

        run()
