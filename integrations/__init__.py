"""Integrations, a file each: every module here has a `TOOLSET` with an integration id.

A module imports `tools_registry.api` with its formatting functions (`tools_registry.api.readable`)
and `foundation.outbound`, and nothing else of this product.
"""
