"""What must stay secret: who may see which words, and in which form."""
