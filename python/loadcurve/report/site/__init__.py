"""The pages of published results."""
