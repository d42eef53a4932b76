"""The lowest layer: code that every app may import and that imports none of them."""
