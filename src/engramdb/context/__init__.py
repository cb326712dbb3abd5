"""Context windows, history and working memory."""
