"""Write Engram into the configuration of agents and editors."""
