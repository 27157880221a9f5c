"""What in docs follows from the code; ``python -m docs.generate`` writes it anew, and a test compares it."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
