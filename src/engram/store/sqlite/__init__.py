"""
The store in one SQLite file.

`store` is the way in; there is one file per table.
"""
