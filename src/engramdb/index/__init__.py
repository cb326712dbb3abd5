"""Indexes: each answers "which memories might fit?"."""
