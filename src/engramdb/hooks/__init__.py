"""Hooks that agent programs call."""
