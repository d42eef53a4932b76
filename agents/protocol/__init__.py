"""The Agent Application Protocol, version 1: its requests, messages and events.

Nothing here knows Django, rows or models.
"""
