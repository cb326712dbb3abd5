"""From words to memories: observe, read, admit."""
