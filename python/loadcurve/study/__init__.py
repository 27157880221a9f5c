"""What a person asks for: the study file, its points and the order of its trials."""
