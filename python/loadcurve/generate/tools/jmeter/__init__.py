"""The load generator jmeter."""
