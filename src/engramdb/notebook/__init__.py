"""Memories as a folder of Markdown files."""
