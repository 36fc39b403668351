"""Words on the axes of the pictures of the lab."""

AXES = {
    "alpha": r"samples per dimension $n/d$",
    "batch_ratio": r"samples of each step per dimension",
    "time": r"time = samples / $d$",
    "kappa": r"$\log n/\log d$",
}
"""Axes by their names."""

QUANTITIES = {
    "test_mse": "test error",
    "excess_mse": "error without noise",
    "cosine2": r"squared cosines $\cos^2\theta_k$",
    "recovery": "recovery $R_k$",
    "gradient": "cosine of gradient and target",
    "overlap": "overlap with the second direction",
}
"""Quantities by their names."""
