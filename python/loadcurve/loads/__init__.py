"""The one type of a load: its kinds with their nouns, a study's table of it, and the engine's plan."""
