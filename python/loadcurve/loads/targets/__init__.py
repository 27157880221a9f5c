"""Files of targets that other tools write: requests with their methods, headers and bodies."""
