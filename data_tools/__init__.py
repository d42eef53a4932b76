"""The data tools, a module a subject: each module here holds a `TOOLSET`."""
