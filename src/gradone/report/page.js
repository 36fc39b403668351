// Formulas are set from their LaTeX; what KaTeX cannot read stays as the text that is there.
for (const place of document.querySelectorAll("[data-latex]")) {
  try {
    katex.render(place.dataset.latex, place, {displayMode: true, throwOnError: true});
  } catch (error) {
    place.classList.add("as-typed");
  }
}
// Pictures are drawn last: only now is their width known.
for (const live of document.querySelectorAll(".live")) {
  const picture = JSON.parse(live.querySelector("script").textContent);
  Plotly.newPlot(live.querySelector(".plot"), picture.data, picture.layout, {
    displaylogo: false,
    responsive: true,
    modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d"],
  });
}
