"""
Steps that make knowledge of episodes: lasting facts, procedures, principles, profiles, stories, conclusions.

`semantic`, `procedures`, `synthesis`, `profiles`, `crystals`, `bridges` and `inference` are the steps;
`ground` says what they may build on, the others do one part of the work each.
"""
