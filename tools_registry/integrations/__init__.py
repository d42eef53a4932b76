"""Native integrations, a file each: every module here holds a `TOOLSET` with an integration id.

A module sees `tools_registry.types` and `foundation.outbound`, what words texts, amounts and days
(`tools_registry.readable`), and nothing else of ours.
"""
