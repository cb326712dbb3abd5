"""
Steps that make one of what says the same, and decide what contradicts.

`merge`, `patterns` and `contradictions` are the steps; the others find and compare statements for them.
"""
