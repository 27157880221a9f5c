"""Statistics over trials: every number with its n and its interval."""
