"""What the REST APIs share: callers, errors, bodies, pages, entity tags, repeated requests."""
