"""The only SQL: the contract of a store and its implementations."""
