"""Running: one load, and whole studies of trials."""
