"""
Adapters: Engram behind the interfaces of other frameworks, one module each.

Nothing is imported here, and nothing in Engram imports them: each needs the package that it is for,
which an extra of the same name brings (`pip install 'engram-memory[langgraph]'`). What they keep exactly
lies on the shelf of the store; what it says goes through the gate. docs/guides/adapters.md shows each at
work.
"""
