"""The composition root and `Engram`."""
