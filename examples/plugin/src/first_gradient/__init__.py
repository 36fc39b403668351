"""The first gradient of a network on n samples: the direction of the sum of y x."""
