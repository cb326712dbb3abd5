"""
Steps that look at the whole: what fades, what is in doubt, what is missing, what there is in short.

`probe`, `drift`, `replay`, `gaps`, `tree` and `confidence` are the steps; the others do one part of the work
each.
"""
