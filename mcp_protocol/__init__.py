"""The messages of the Model Context Protocol: pure Python, without Django or I/O."""
