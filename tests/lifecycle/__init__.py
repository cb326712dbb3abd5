"""Tests of ageing, which share the memories and questions in `made`."""
