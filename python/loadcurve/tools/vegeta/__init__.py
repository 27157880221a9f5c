"""The load generator vegeta."""
