"""The wire of the Model Context Protocol: pure Python, no Django, no input or output."""
