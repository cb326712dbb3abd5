"""
From turns to typed statements.

`heuristic` is always there and deterministic; `model` asks a chat model. Both give `Extracted` values.
"""
