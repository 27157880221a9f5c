"""The load generator autocannon."""
