"""
What an agent attends to now.

`sensory` holds what was just said.
"""
