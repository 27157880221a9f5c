"""The load generator bombardier."""
