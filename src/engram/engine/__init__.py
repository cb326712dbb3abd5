"""
Wires the rooms once.

`engram` holds the object that users hold, `assemble` builds its parts.
"""
