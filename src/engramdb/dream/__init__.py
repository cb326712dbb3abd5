"""Consolidation while the agent is idle: one module per step."""
