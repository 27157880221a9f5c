"""The load generator hey."""
