"""Message passing with a known link, and the spectral method that can start it."""
