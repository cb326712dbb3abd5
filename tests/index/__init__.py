"""The indexes: by words, by meaning, by links."""
