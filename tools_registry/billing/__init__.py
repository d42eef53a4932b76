"""Billing requests: filed by a tool, decided on by an admin, carried out once."""
