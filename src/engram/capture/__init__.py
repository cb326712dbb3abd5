"""
The write path: from words to stored memories.

`admit` is the one gate that every memory from every door goes through; `change` alters what is stored.
"""
