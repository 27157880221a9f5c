"""Results of our own loads, as files."""
