"""Other machines: how they are named and reached, and the agent that works there by messages."""
