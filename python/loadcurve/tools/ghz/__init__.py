"""The load generator ghz."""
