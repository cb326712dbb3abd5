"""
Pictures of ageing: what will become of a store, how each preset lets memories fade.

`canvas` gives every picture its look and its file, the other modules draw one picture each, and `trace`
computes what they draw. Needs matplotlib, an extra, so whoever draws imports these modules late. No picture
shows the words of a memory.
"""
