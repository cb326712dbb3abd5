"""
Connect: write Engram into the configuration of agents and editors, and take it out again.

`plan` says what would change in which file, `write` does it. The files are somebody else's: only our own
entries are touched, and the text around them stays as it is, comments and all.
"""
