// Draw the formulas that Sphinx has marked up, once the page and KaTeX (both deferred) are there.
document.addEventListener("DOMContentLoaded", () => {
  const environments = ["align", "align*", "equation", "equation*", "gather", "gather*"];
  renderMathInElement(document.body, {
    delimiters: [
      { left: "\\[", right: "\\]", display: true },
      { left: "\\(", right: "\\)", display: false },
      ...environments.map((name) => ({ left: `\\begin{${name}}`, right: `\\end{${name}}`, display: true })),
    ],
    // Sphinx has numbered the equation already; the starred form keeps KaTeX from doing it again.
    preProcess: (tex) => tex.replace(/\{(align|equation|gather)\}/g, "{$1*}"),
  });
});
