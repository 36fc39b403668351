"""What statistical queries see: conditional moments given the output, classes, thresholds."""
