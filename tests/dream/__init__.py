"""Tests of aging, which share the memories and questions in `made`."""
