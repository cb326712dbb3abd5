"""
From memories to a prompt: measure, divide, fill, degrade, isolate.

`build` makes a window; `budget` divides the tokens, one small file fills each section, `detail` decides how
much of each memory is shown, `isolation` keeps memories data. Knows neither index nor model: both are given.
"""
