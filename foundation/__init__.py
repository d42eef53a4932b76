"""The bottom floor: what every app stands on, knowing none of them."""
