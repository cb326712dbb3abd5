"""
Pure functions of time: how much of a memory is left, how much it matters, where it belongs, when it leaves.

Arrays in, arrays out: one sweep over a million memories is arithmetic on columns. Nothing here reads a clock
or a store; `dream.age` does, and applies what is decided here.
"""
