"""From an OpenAPI document to tools, and from a tool's arguments to one HTTP request; no Django."""
