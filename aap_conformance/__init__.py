"""A conformance suite for servers of the Agent Application Protocol, version 1.

It talks to a running server as a client, and knows nothing of how that server is made.
"""
