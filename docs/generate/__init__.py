"""What in docs follows from the code; ``python -m docs.generate`` writes it anew, and a test compares it."""
