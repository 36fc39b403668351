"""Exponents derived by hand: (target, noise, information, leap, generative), with the reason."""

from __future__ import annotations

EXPONENTS = [
    # Hermite polynomials: information exponent k; odd ones reveal E[z|y], even ones E[z^2|y]
    ("z1", 0.0, 1, 1, 1),
    ("z1**2", 0.0, 2, 2, 2),
    ("He3(z1)", 0.0, 3, 3, 1),
    ("He4(z1)", 0.0, 4, 4, 2),
    ("He5(z1)", 0.0, 5, 5, 1),
    ("He6(z1)", 0.0, 6, 6, 2),
    ("He7(z1)", 0.0, 7, 7, 1),
    ("He8(z1)", 0.0, 8, 8, 2),
    ("He3(z1)", 0.5, 3, 3, 1),
    ("z1**3", 0.0, 1, 1, 1),
    ("z1**4", 1.0, 2, 2, 2),
    ("He3(z1) + 0.5*z1", 0.0, 1, 1, 1),
    # functions of one variable
    ("relu(z1)", 0.0, 1, 1, 1),
    ("abs(z1)", 0.0, 2, 2, 2),
    ("exp(z1)", 0.0, 1, 1, 1),
    ("cos(z1)", 0.0, 2, 2, 2),
    ("sin(5*z1)", 0.0, 1, 1, 1),  # C_1 = 5 exp(-25/2)
    ("sin(7*z1)", 0.0, 1, 1, 1),  # 7 exp(-49/2) = 2e-10, below C_7 and its errors
    ("sin(8*z1)", 0.0, 1, 1, 1),
    ("cos(7*z1)", 0.0, 2, 2, 2),
    ("step(abs(z1) - 1)", 0.0, 2, 2, 2),
    ("z1**2*exp(-z1**2)", 0.0, 4, 4, 4),  # the two preimages balance: E[z^2 - 1|y] = 0
    ("sign(z1 + z2 + z3)", 0.0, 1, 1, 1),
    # products: every sign flip of two factors leaves y alone
    ("z1*z2", 0.0, 2, 2, 2),
    ("z1*z2*z3", 0.0, 3, 3, 2),
    ("z1*z2*z3*z4", 0.0, 4, 4, 2),
    ("z1*z2*z3*z4*z5", 0.0, 5, 5, 2),
    ("sign(z1*z2)", 0.0, 2, 2, 2),
    ("sign(z1*z2*z3)", 0.0, 3, 3, 3),  # the sign is independent of all |z_i|
    ("sign(z1*z2*z3*z4)", 0.0, 4, 4, 4),
    ("sign(z1*z2*z3*z4*z5)", 0.0, 5, 5, 5),
    ("sign(z1*z2*z3)", 0.3, 3, 3, 3),
    ("tanh(z1*z2)", 0.0, 2, 2, 2),
    ("z1*sign(z2)", 0.0, 2, 2, 2),
    ("erf(z1)*erf(z2)*erf(z3)", 0.0, 3, 3, 2),
    ("He3(z1)*z2", 0.0, 4, 4, 2),
    ("He2(z1)*He2(z2)", 0.0, 4, 4, 2),
    ("z1**2*z2**2", 0.0, 2, 2, 2),  # (He2 + 1)(He2 + 1)
    ("z1**2 - z2**2", 0.0, 2, 2, 2),
    ("z1**2*sign(z2*z3)", 0.0, 2, 2, 2),
    # staircases
    ("z1 + z1*z2", 0.0, 1, 1, 1),
    ("z1 + z1*z2 + z1*z2*z3", 0.0, 1, 1, 1),
    ("z1**2*z2", 0.0, 1, 2, 1),  # z2 + z2 He2(z1)
    ("z1 + z1*He2(z2)", 0.0, 1, 2, 1),
    ("z1 + He2(z1)*He3(z2)", 0.0, 1, 3, 1),
    ("z1*z2 + z1*z2*z3", 0.0, 2, 2, 1),  # |y| = |z1 z2| |1 + z3| reveals z3
    ("z1*z2 + sign(z1*z2*z3)", 0.0, 2, 2, 1),  # y > 1: z1 z2 = y - 1 and z3 > 0 is more likely
    ("He2(z1) + He3(z2)", 0.0, 2, 3, 1),
    ("He2(z1) + He4(z2)", 0.0, 2, 4, 2),
    ("He3(z1) + He3(z2)", 0.0, 3, 3, 1),
    ("sign(z1) + sign(z2)", 0.0, 1, 2, 1),
    ("sign(z1) + sign(z1*z2*z3)", 0.0, 1, 2, 1),
    ("z1**2 + sign(z1*z2*z3)", 0.0, 2, 2, 2),
    ("He4(z1) + sign(z1*z2*z3)", 0.0, 3, 3, 2),
    ("sign(z1*z2) + z3", 0.0, 1, 2, 1),
    ("max(z1, z2)", 0.0, 1, 2, 1),  # (z1 + z2)/2 + |z1 - z2|/2
    ("relu(z1)*relu(z2)", 0.0, 1, 2, 1),  # even in the difference
    ("sign(z1)*relu(z2)", 0.0, 1, 1, 1),
    ("z1*abs(z2)", 0.0, 1, 2, 1),
    # E[z1 y] is not zero, so the first direction is oblique; given it, sin(3 z1) is not even
    ("sign(z2 - sin(3*z1))", 0.0, 1, 1, 1),
    # C_1 = 10 exp(-50) and E[E[z|y]^2] = 200 exp(-100) = 7e-42: one, but out of reach
    ("sin(10*z1)", 0.0, 1, 1, 1),
    ("sin(9*z1)", 0.0, 1, 1, 1),
]
