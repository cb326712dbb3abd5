"""
The slow path: what happens to memories while nobody is asking.

`age` is one sweep of ageing. Each step reads, decides with pure functions, and changes the store in small
writes, so that whoever asks meanwhile hardly notices.
"""
