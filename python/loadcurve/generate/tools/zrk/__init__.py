"""The load generator zrk."""
