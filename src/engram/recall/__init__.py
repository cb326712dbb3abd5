"""
The read path: gather → fuse → weigh → explain.

`pipeline` runs the steps; each of the others is one step.
"""
