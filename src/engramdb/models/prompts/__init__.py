"""One module per prompt."""
