"""A small HTTP service with its own OpenAPI document, to try the gateway with."""
