"""The schemas of a document, translated to JSON Schema and to the portable form; no Django."""
