// Six pages that tell the story of the field, each with a live example.
import { ask, byId, draw, element, say, showFormula, tell } from "./dom.js";
import { change, onChange, state } from "./state.js";

const PAGES = [
  { title: "Lazy is polynomial fitting", target: "z1 + He2(z1)/2 + He3(z1)/4", theory: "lazy", top: 3.4, watch: "random_features,dot_kernel_ridge",
    text: ["A network whose first layer stays where it started is a kernel machine. It sees no directions, only degrees: with n of order d samples it fits the best linear function, with d² the best quadratic, with dᵏ the best polynomial of degree k.",
      "The curve is the error that is left against log n / log d. Each step down is one Hermite degree of the target, and the energies on the first tab say how high the steps are. That the target depends on a single direction does not help at all."] },
  { title: "One giant step", target: "tanh(z)", theory: "one_step", top: 4, watch: "random_features,giant_step",
    text: ["Now let the first layer move once, with a step as large as the number of neurons allows. The gradient has one large singular value: a spike along the linear part of the target. All neurons turn towards it.",
      "The readout that is then fitted on fresh samples can use any function of this direction, not only the linear one. The curve shows the error after the step; on the Predict tab compare it with random features, and make the step small to see the advantage vanish."] },
  { title: "The staircase", target: "z1 + z1*z2", theory: "giant_steps", top: 8, watch: "giant_step,sgd",
    text: ["A second step sees more than the first. Once z1 is known, the term z1·z2 is linear in z2 for those neurons that already look along z1: the gradient now points there too. One direction opens the next.",
      "The curves show how much of the first and of the second gradient lies in the hidden directions, against the samples of each step. Replace z1·z2 by He2(z2): nothing is linear in z2 any more, the staircase has one step, and giant steps stop."] },
  { title: "Easy and hard", target: "sign(z1*z2)", theory: "bayes_amp", top: 6, watch: "bayes_amp,random_features",
    text: ["How far can any efficient algorithm go with n = αd samples? Message passing is believed to be the best of them, and its overlaps with the hidden directions are solved exactly. For a parity of two directions nothing is learned until α = π²/4 ≈ 2.47; then both appear at once.",
      "Add a third direction, sign(z1·z2·z3), and the threshold is gone: no number of samples proportional to d is enough. The generative exponent decides: it is 2 in the first case and 3 in the second. The first tab says so for every target that you type."] },
  { title: "Reuse breaks the curse", target: "He3(z)", theory: "bayes_amp", top: 3, watch: "plain,extragradient", view: "time",
    text: ["One pass of SGD on He3 needs about d² samples: the information exponent is 3, and near its start a neuron feels almost no force. This was long taken for a law of gradient descent.",
      "But it is a law of seeing each sample once. An algorithm that uses a sample again works in effect with a nonlinear function of its label, whose exponent is smaller: here it is 1, and n of order d is enough. The curve is message passing, which uses all samples at every iteration. Watch extra-gradient steps, which use each sample twice, race against plain ones."] },
  { title: "Depth", target: "sight", theory: "depth", top: 2.4, watch: "layerwise,dot_kernel_ridge",
    text: ["Some targets are hierarchies: many hidden features are first combined into one nonlinear quantity h, and the label is a function of h alone. A kernel must fit everything at once; two layers find the features but still fit a function of all of them.",
      "A network of three layers can find the features, then h, and then needs hardly any data for the last function. The curves show what each depth reaches, against log n / log d: this is where depth saves samples, and by what power of d."] },
];

export function startTour() {
  onChange((keys) => {
    if (state.tab === "tour" && (keys.includes("page") || keys.includes("tab"))) show();
  });
  if (state.tab === "tour") show();
}

async function show() {
  const number = Math.min(PAGES.length, Math.max(1, Number(state.page) || 1)), page = PAGES[number - 1];
  byId("tour-steps").replaceChildren(...PAGES.map((one, i) => {
    const step = element("button", { type: "button", onclick: () => change({ page: i + 1 }) }, `${i + 1}. ${one.title}`);
    if (i === number - 1) step.setAttribute("aria-current", "step");
    return element("li", {}, step);
  }));
  byId("tour-title").textContent = `${number}. ${page.title}`;
  byId("tour-text").replaceChildren(...page.text.map((one) => element("p", {}, one)));
  const place = byId("tour-state"), plot = byId("tour-plot");
  plot.hidden = true;
  try {
    const { target } = page;
    byId("tour-buttons").replaceChildren(
      element("button", { type: "button", onclick: () => change({ tab: "target", target, noise: "", run: "" }) }, "The verdict on it"),
      element("button", { type: "button", onclick: () => change({ tab: "predict", target, noise: "", theory: page.theory, top: page.top, sliders: "", run: "" }) }, "Move the sliders"),
      element("button", { type: "button", onclick: () => change({ tab: "watch", target, noise: "", view: page.view ?? "samples", algorithms: page.watch, run: "" }) }, "Watch it learn"),
      ...(number < PAGES.length ? [element("button", { type: "button", class: "main", onclick: () => { change({ page: number + 1 }); byId("tour-title").focus(); } }, "Next page")] : []));
    say(place, "computing the example…");
    const about = await ask("tour analyze", "/api/analyze", { target });
    showFormula(byId("tour-formula"), about.latex);
    for (const points of [4, 12]) {
      const found = await ask("tour predict", "/api/predict", { target, theory: page.theory, top: page.top, points });
      plot.hidden = false;
      await draw(plot, found.picture);
      plot.setAttribute("data-page", number);
    }
    say(place, about.headline);
  } catch (error) {
    tell(place, error);
  }
}
