"""
Measurements of quality, speed and survival: one command each, a table and JSON out.

These import engram, never the reverse. What was measured, and what came of it, is written up in docs/lab.
"""
