"""Search by meaning: embedders, rerankers, the fusion of ranked lists, and vectors in memory.

`configured.py` chooses the embedder and the reranker by the settings. Where the settings name none,
`hashed.py` and `lexical.py` work offline: they compare words, parts of words and synonyms, and know
nothing else about meaning.
"""
