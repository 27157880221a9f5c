"""The load generator fortio."""
