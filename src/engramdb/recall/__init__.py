"""From a question to memories: plan, gather, fuse, explain."""
