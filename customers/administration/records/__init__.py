"""The admin pages of what an organization records: companies, leads, tickets and the rest."""
