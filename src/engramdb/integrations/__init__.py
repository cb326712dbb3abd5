"""Engram with the interfaces of other frameworks."""
