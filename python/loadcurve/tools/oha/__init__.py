"""The load generator oha."""
