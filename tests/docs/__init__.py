"""Tests of what is written about Engram."""
