"""The load generator go_ycsb."""
