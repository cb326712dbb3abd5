"""Embedders, chat models, tokenizers and prompts."""
