"""The load generator ycsb."""
