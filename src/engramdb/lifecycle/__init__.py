"""The life of a memory: admission, settling, change, merging, aging, erasure."""
