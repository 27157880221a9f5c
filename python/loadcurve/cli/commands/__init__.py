"""The subcommands as the command line has them: arguments, options and their checks."""
