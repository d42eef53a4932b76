"""Text from Markdown, HTML, PDF and Word documents, in sections and passages.

`readers.py` reads a document, `process.py` does so in a process of its own, within limits, and
`cutting.py` cuts sections into passages.
"""
