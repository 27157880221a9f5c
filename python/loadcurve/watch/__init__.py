"""A local page that follows a run by its folder during the run, without disturbing it."""
