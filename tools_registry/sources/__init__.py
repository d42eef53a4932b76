"""Built-in tools, a file a toolset: each module here holds a `TOOLSET`."""
