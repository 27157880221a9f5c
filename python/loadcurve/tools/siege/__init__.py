"""The load generator siege."""
