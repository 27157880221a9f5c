"""The one type of a load: its kinds with their words, a study's table of it, and the engine's plan."""
