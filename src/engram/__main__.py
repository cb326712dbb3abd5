"""
Run the command line with `python -m engram`, where the script `engram` is not on the path.

Calls `surfaces.cli.main` and nothing else.
"""

from engram.surfaces.cli.main import run

if __name__ == "__main__":
    run()
