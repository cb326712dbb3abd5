"""
Hooks: what an agent's own program calls while a conversation goes on.

`run` is called by `engram hook` and answers for a running Claude Code; `react` does the work with an opened
engine. Whatever happens here, the agent goes on: no hook ever fails towards it.
"""
