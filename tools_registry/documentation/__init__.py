"""The product's documentation: read from Markdown, kept in sections, searched and read by tools.

`markdown.py` reads a page, `index.py` keeps the database's copy, `search.py` answers.
"""
