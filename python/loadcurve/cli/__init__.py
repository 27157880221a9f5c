"""The command: options in, tables and exit codes out."""
