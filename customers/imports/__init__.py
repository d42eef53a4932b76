"""Imports of customers, companies and tickets from CSV files: all of a file, or none."""
