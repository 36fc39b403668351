"""Networks whose features do not move: random features, kernels, and how they scale."""
