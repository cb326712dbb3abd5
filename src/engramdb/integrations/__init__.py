"""Engram behind the interfaces of other frameworks."""
