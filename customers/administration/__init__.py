"""The admin pages of customers, what they did, and imports."""
