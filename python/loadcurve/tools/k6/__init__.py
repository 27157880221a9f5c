"""The load generator k6."""
