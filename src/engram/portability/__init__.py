"""
Memories that come from elsewhere: read other tools' files as records that the gate can judge.

Used by the engine, one step above. Knows files and formats; knows no store, no model and no clock.
"""
