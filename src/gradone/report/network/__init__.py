"""What a trained network has learned: directions, spectra and layers, on data of one's own."""
