"""
Pure functions on text: no I/O, no clock, no store.

`normal` gives a statement one form and a fingerprint, `terms` cuts it for the text index, `passage`
writes it for an embedder.
"""
