"""Reading TOML files: kinds of values with their words, problems by line, and the nearest known name."""
