"""The knowledge base: documents and web pages of an organization, searched by words and by meaning.

`sources.py` adds and removes sources, `indexing.py` turns them into passages (in the worker,
`workspace/tasks.py`), `searching.py` searches the passages.
"""

from workspace.knowledge.indexing import index
from workspace.knowledge.searching import Hit, search
from workspace.knowledge.sources import UnusableSource, add, remove, request_index

__all__ = ["Hit", "UnusableSource", "add", "index", "remove", "request_index", "search"]
