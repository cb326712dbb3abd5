"""Consolidation while nobody asks: one module per step."""
