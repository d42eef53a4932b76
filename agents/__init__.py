"""Agents that applications talk to over the Agent Application Protocol: sessions, turns, models."""
