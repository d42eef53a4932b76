"""Who customers are, as an organization's own app tells: profiles, leads, typed traits."""
