"""The product's documentation: read from Markdown, stored in sections, searched and read by tools.

`markdown.py` parses a page, `index.py` updates the copy in the database, `search.py` searches it.
"""
