"""
Memories as a folder of Markdown files: how they are named, written, read back and told apart.

Used by the engine, which alone changes memories. Knows files and values; knows no store and no clock.
"""
