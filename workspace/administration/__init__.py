"""The base classes of every admin page, and the rights of its visitors."""
