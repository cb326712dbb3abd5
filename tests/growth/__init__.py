"""How the time of every parser grows with the size of hostile text."""
