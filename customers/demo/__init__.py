"""Demo data: a software company with 18 months of customers, tickets and conversations."""
