"""Searches the documentation for tests that look at the sections alone."""

from documentation.search import DocumentationHit, answer


def search(query: str, limit: int) -> list[DocumentationHit]:
    return [*answer(query, limit).hits]
