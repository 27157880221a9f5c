"""Side by side with other load generators, and with the floor."""
