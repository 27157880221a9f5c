"""Findings: what is odd in a run, with the evidence, the cause and what to do about it."""
