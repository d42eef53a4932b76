"""Native integrations, a file each: every module here holds a `TOOLSET` with an integration id.

A module sees `tools_registry.types` and `foundation.outbound` and nothing else of ours.
"""
