"""Deep networks, learned layer by layer or all layers at once."""
