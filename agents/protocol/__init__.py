"""The Agent Application Protocol, version 1: its requests, messages, events and errors.

Nothing here knows Django, rows or models.
"""
