"""The base classes of every admin page, the rights of its visitors, and the pages of customers."""
