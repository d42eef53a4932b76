"""HR records: people, their employment, the organization's units, and time off."""
