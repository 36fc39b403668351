"""One or several gradient steps of order one on large batches, and the spectra that they leave."""
