"""The public HR API: operations, what they answer, and the views that serve them."""
