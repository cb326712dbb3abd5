"""
What an agent attends to now.

`sensory` holds what was just said; `slots` are working memory, `momentum` where the talk is going,
`topic` whether it goes on, drifts or turns, `anticipation` what will be asked next, `mind` all of that
in one value.
"""
