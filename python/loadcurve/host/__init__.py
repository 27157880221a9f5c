"""The machine that measures: what it is, and how its CPUs are divided."""
