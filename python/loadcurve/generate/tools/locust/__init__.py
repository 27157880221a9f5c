"""The load generator locust."""
