// The story of the field in six pages: what each says. Their examples are in tour.json.

export const PAGES = [
  {
    title: "Lazy is polynomial fitting",
    family: "lazy",
    watch: { algorithms: "random_features,dot_kernel_ridge" },
    text: [
      `A network whose first layer stays where it started is a kernel machine. It sees no directions,
        only degrees: with n of order d samples it fits the best linear function, with d² the best
        quadratic one, with dᵏ the best polynomial of degree k (Ghorbani, Mei, Misiakiewicz and Montanari
        2019).`,
      `The curve is the error that is left, against log n / log d. Each step down is one Hermite degree
        of the target, and the energies on the Verdict tab say how high the steps are. That the target
        depends on a single direction does not help at all: in d = 1000 the third step would take a
        thousand million samples. To do better, the first layer has to move.`,
    ],
    papers: "Ghorbani et al. 2019, arXiv:1904.12191; Mei et al. 2021, arXiv:2101.10588",
  },
  {
    title: "One giant step",
    family: "giant",
    slider: { name: "giant_step.step_size", label: "size of the step", low: 0.1, high: 10 },
    watch: { algorithms: "random_features,giant_step" },
    text: [
      `Now let the first layer move once, on a batch of its own, with a step as large as the number of
        neurons allows. The gradient has one large singular value: a spike along the linear part of the
        target, and all neurons turn towards it (Ba et al. 2022). This needs no more than n of order d
        samples (Dandi et al. 2023).`,
      `The readout that is then fitted on fresh samples can use any function of this direction, not only
        the linear one. The curves compare a network of the same width without the step, which can do no
        better than the best linear function, and one with it, which uses half of the samples for the step:
        exact formulas in the limit of large dimensions (Cui et al. 2024). Make the step smaller: the curve
        rises again.`,
    ],
    papers: `Ba et al. 2022, arXiv:2205.01445; Dandi et al. 2023, arXiv:2305.18270; Cui et al. 2024,
      arXiv:2402.04980`,
  },
  {
    title: "The staircase",
    family: "giant",
    watch: { view: "time", algorithms: "sgd", seeds: 2 },
    text: [
      `A second step sees more than the first. Once z1 is known, the term z1·z2 is linear in z2 for those
        neurons that already look along z1: the gradient now points there too. One direction opens the
        next, as on a staircase (Abbe, Boix-Adsera and Misiakiewicz 2022); with giant steps each stair
        takes n of order d fresh samples (Dandi et al. 2023).`,
      `The curves show the cosines of the first and of the second gradient with both directions, against
        the samples of each step: the first gradient sees z1 alone, the second sees z2 as well. One-pass
        SGD climbs the same stairs in time: watch its neurons turn first to z1, then to z2. With He2(z2)
        instead of z1·z2 nothing is linear in z2, the staircase has one step, and giant steps stop.`,
    ],
    papers: `Abbe et al. 2022, arXiv:2202.08658; Abbe et al. 2023, arXiv:2302.11055; Dandi et al. 2023,
      arXiv:2305.18270`,
  },
  {
    title: "Easy and hard",
    family: "bayes",
    watch: { algorithms: "bayes_amp,random_features" },
    text: [
      `How far can any efficient algorithm go with n = α d samples? Message passing is believed to be the
        best of them, and its overlaps with the hidden directions are known exactly (Aubin et al. 2018).
        For the parity of two directions nothing is learned until α = π²/4 ≈ 2.47; then both appear at
        once (Troiani et al. 2024).`,
      `Add a third direction, sign(z1·z2·z3), and the threshold is gone: no number of samples
        proportional to d is known to be enough. What decides is the generative exponent (Damian et al.
        2024): it is 2 in the first case and 3 in the second. The Verdict tab says for every target that
        you type which of its directions are trivial, easy or hard, and where they open.`,
    ],
    papers: `Aubin et al. 2018, arXiv:1806.05451; Troiani et al. 2024, arXiv:2405.15480; Damian et al. 2024,
      arXiv:2403.05529`,
  },
  {
    title: "Reuse breaks the curse",
    family: "sgd",
    slider: {
      name: "extragradient.inner_step_size",
      label: "size of the first look at each sample",
      low: 0.01,
      high: 0.5,
    },
    watch: { view: "time", algorithms: "sgd,extragradient", seeds: 3 },
    text: [
      `SGD that sees each sample once needs about d² samples for He3, whose information exponent is 3
        (Ben Arous, Gheissari and Jagannath 2021): near its start a neuron feels no force. A ReLU, which
        has no third degree, never feels any. This was long taken for a law of gradient descent.`,
      `It is a law of looking once. Look twice at the same sample, first a small trial step and then the
        gradient from there, and the label enters through its powers: what counts is the generative
        exponent, here 1, and n of order d is enough (Dandi et al. 2024; Arnaboldi et al. 2024). Both
        curves have the same neurons, the same start and the same samples. Make the first look smaller,
        and the force fades.`,
    ],
    papers: `Ben Arous et al. 2021, arXiv:2003.10409; Dandi et al. 2024, arXiv:2402.03220; Arnaboldi et al. 2024,
      arXiv:2405.15459; Damian et al. 2024, arXiv:2403.05529`,
  },
  {
    title: "Depth",
    family: "depth",
    watch: { algorithms: "layerwise,dot_kernel_ridge" },
    text: [
      `Some targets are hierarchies: many hidden directions, √d of them, are first combined into one
        nonlinear quantity h, and the label is a function of h alone. A kernel must fit everything at
        once. Two layers find the directions, but then still have to fit a function of all of them.`,
      `Three layers can find the directions, then h, and then need hardly any data for the last function
        (Nichani, Damian and Lee 2023; Dandi et al. 2025). The curves show the error that each depth
        leaves, against log n / log d: beyond n = d^1.5 three layers have learned all of it, while two
        layers and the kernel go down one polynomial degree after the other and never arrive. This is
        where depth saves samples, and by what power of d.`,
    ],
    papers: "Nichani et al. 2023, arXiv:2305.06986; Dandi et al. 2025, arXiv:2502.13961",
  },
];
