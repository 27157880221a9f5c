"""Edits that break the product on purpose, and whether tests notice: ``python -m benches.mutations``."""
