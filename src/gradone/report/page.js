// Formulas are set from their LaTeX; what KaTeX cannot read stays as the text that is there.
for (const place of document.querySelectorAll("[data-latex]")) {
  try {
    katex.render(place.dataset.latex, place, {displayMode: true, throwOnError: true});
  } catch (error) {
    place.classList.add("as-typed");
  }
}
// Room below a picture for the lines of its legend that a narrow page adds; numbers are pixels.
function withRoom(layout, data, width) {
  let [planned, rows, used] = [0, 1, 0];
  for (const one of data.filter((trace) => trace.showlegend && trace.name)) {
    const length = 50 + 7 * one.name.replace(/<[^>]*>/g, "").length;
    if (used && used + length > width - 85) [rows, used] = [rows + 1, 0];
    [planned, used] = [planned + length / 640, used + length];
  }
  const more = 22 * Math.max(0, rows - Math.ceil(planned));
  return {...layout, height: layout.height + more, margin: {...layout.margin, b: layout.margin.b + more}};
}
// Pictures are drawn last: only now is their width known.
for (const live of document.querySelectorAll(".live")) {
  const picture = JSON.parse(live.querySelector("script").textContent);
  const place = live.querySelector(".plot");
  Plotly.newPlot(place, picture.data, withRoom(picture.layout, picture.data, place.clientWidth), {
    displaylogo: false,
    responsive: true,
    modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d"],
  });
}
