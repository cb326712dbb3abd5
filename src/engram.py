"""
Answer hooks that agents were given before the package was called `engramdb`: `python -m engram hook …`.

Only for running, not for importing: the import name `engram` is another project's. `engramdb connect` writes
the new name into an agent's configuration.
"""

from __future__ import annotations

if __name__ != "__main__":
    raise ImportError("this is not a package: Engram is imported as `engramdb`")

import runpy

runpy.run_module("engramdb", run_name="__main__", alter_sys=True)
