"""
Hooks: what an agent's own program calls while a conversation goes on.

`run` is called by `engram hook` and answers a running Claude Code, Codex or Gemini CLI; `react` does the work
with an opened engine. Whatever happens here, the agent goes on: no hook ever fails towards it.
"""
