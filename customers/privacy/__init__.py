"""Erases and exports a customer, and deletes data that is older than its retention period."""
