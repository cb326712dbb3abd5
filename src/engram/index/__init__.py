"""
Each index answers one question: which memories might fit?

`lexical` asks by words, `vector` by meaning. An index holds nothing that the store could not give again.
"""
