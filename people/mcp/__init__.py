"""The HR API over MCP: one surface for each workspace, its tools and its documents."""
