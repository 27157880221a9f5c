"""What sends a load: behind one protocol, our engine."""
