"""What correlation queries see: leaps, giant-step staircases, plateaus."""
