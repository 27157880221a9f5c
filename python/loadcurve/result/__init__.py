"""What a run leaves behind: its records, and reading them back from the run folder."""
