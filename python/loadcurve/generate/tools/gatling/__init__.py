"""The load generator gatling."""
