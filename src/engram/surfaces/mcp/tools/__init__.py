"""
The tools, one file each, named as the engine's verbs are.

Listed by `mcp.table`. A tool is short: its arguments, one call of the engine, the answer in words and
values.
"""
