"""What can be known about a target before learning it."""
