"""A local page that follows a run by its folder while the run goes on, without disturbing it."""
