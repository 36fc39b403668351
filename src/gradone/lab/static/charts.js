// Pictures by plotly, in the fonts and colors of the page.

const CONFIG = { responsive: true, displayModeBar: false };
const BLACK = "#000000";

/** Words of the server in which $...$ is mathematics, as plotly writes them. */
export const plain = (text) =>
  text
    .replace(/\$\\cos\^2\\theta_\{?(\w+)\}?\$/g, "cos²θ<sub>$1</sub>")
    .replace(/\$z_\{?(\d+)\}?\$/g, "z<sub>$1</sub>");

const root = getComputedStyle(document.documentElement);
const color = (name) => root.getPropertyValue(`--${name}`).trim();
const rem = (size) => Math.round(size * parseFloat(root.fontSize));   // large type for a lecture
const font = () => ({ family: root.fontFamily, size: rem(0.875), color: color("ink") });
const papers = () => ({ paper_bgcolor: color("paper"), plot_bgcolor: color("paper") });

/** A black line would not be seen on a dark page. */
const seen = (trace) => {
  const found = structuredClone(trace);
  for (const part of [found.line, found.marker, found.error_y])
    if (part?.color === BLACK) part.color = color("ink");
  return found;
};

const again = new WeakMap();   // how each picture is drawn

/** Draw all pictures that are seen again, in the colors, the type and the width of the page. */
export function redrawAll() {
  for (const plot of document.querySelectorAll(".js-plotly-plot"))
    if (plot.clientWidth) again.get(plot)?.();
}

/** Picture that the server describes; the page gives it its width. */
export function draw(place, picture, shorter = 0) {
  again.set(place, () => draw(place, picture, shorter));
  const layout = structuredClone(picture.layout);
  layout.height -= layout.margin.t - 14 + shorter;
  layout.margin.t = 14;
  layout.font = { ...layout.font, ...font(), size: rem(0.81) };
  for (const name of Object.keys(layout).filter((key) => /^[xy]axis/.test(key)))
    layout[name] = {
      ...layout[name],
      gridcolor: color("faint"),
      tickfont: { size: rem(0.75) },
      title: { ...layout[name].title, font: { size: rem(0.875) } },
    };
  layout.width = place.clientWidth;
  return window.Plotly.react(place, picture.data.map(seen), { ...layout, ...papers() }, CONFIG);
}

export function drawTraces(place, traces, layout) {
  again.set(place, () => drawTraces(place, traces, layout));
  const width = place.clientWidth,
    isNarrow = width < 480;
  const axis = {
    showline: true,
    linecolor: color("edge"),
    zeroline: false,
    gridcolor: color("faint"),
    ticks: "outside",
    tickcolor: color("edge"),
  };
  const room = rem(1.375) * legendRows(traces, width) + 6;
  return window.Plotly.react(
    place,
    traces.map(seen),
    {
      font: font(),
      width,
      height: (isNarrow ? 310 : rem(23)) * (layout.yaxis2 ? 1.5 : 1) + room,
      margin: { l: isNarrow ? 52 : 64, r: 14, t: 10, b: 56 + room },
      ...papers(),
      legend: {
        orientation: "h",
        yref: "container",
        y: 0,
        yanchor: "bottom",
        x: 0,
        font: { size: rem(0.81) },
        tracegroupgap: 0,
      },
      hovermode: "closest",
      showlegend: true,
      ...layout,
      xaxis: titled(axis, layout.xaxis),
      yaxis: titled(axis, layout.yaxis),
      ...(layout.yaxis2 ? { yaxis2: titled(axis, layout.yaxis2) } : {}),
    },
    CONFIG,
  );
}

/** Rows of a legend below a picture, from the lengths of its words. */
function legendRows(traces, width) {
  const shown = traces.filter((trace) => trace.showlegend !== false),
    lengths = shown.map((one) => 48 + rem(0.46) * one.name.replace(/<[^>]*>/g, "").length),
    room = width - 70;
  if (lengths.reduce((a, b) => a + b, 0) <= room) return 1;
  // Plotly sets the words in columns as wide as the longest of them, groups one after the other.
  if (!shown.some((one) => one.legendgroup))
    return Math.ceil(shown.length / Math.max(1, Math.floor(room / Math.max(...lengths))));
  let rows = 1,
    used = 0;
  for (const length of lengths) {
    if (used && used + length > room) [rows, used] = [rows + 1, 0];
    used += length;
  }
  return rows;
}

function titled(axis, own) {
  return { ...axis, ...own, title: { ...own.title, font: { size: rem(0.875) }, standoff: 8 } };
}

export const AXES = {
  alpha: "samples per dimension n/d",
  batch_ratio: "samples of each step per dimension",
  kappa: "log n / log d",
  time: "time = samples / d",
};

export const QUANTITIES = {
  test_mse: "test error",
  excess_mse: "error without noise",
  cosine2: "squared cosines with the hidden directions",
  recovery: "recovery of each direction",
  gradient: "cosine of gradient and target",
};

/** Horizontal axis of curves; time is logarithmic. */
export function across(axis, xs) {
  const found = { title: { text: AXES[axis] } };
  if (axis === "kappa") return found;
  if (axis !== "time") return { ...found, range: [0, Math.max(...xs) * 1.03] };
  const [low, high] = [Math.min(...xs), Math.max(...xs)],
    first = Math.floor(Math.log10(low)),
    last = Math.ceil(Math.log10(high));
  const steps = last - first > 3 ? [1] : last - first > 1 ? [1, 3] : [1, 2, 5];
  const tickvals = Array.from({ length: last - first + 1 }, (_, k) =>
    steps.map((one) => Number((one * 10 ** (first + k)).toPrecision(1))),
  ).flat();
  return {
    ...found,
    type: "log",
    tickvals,
    ticktext: tickvals.map(String),
    range: [Math.log10(low) - 0.02, Math.log10(high) + 0.03],
  };
}

/** Vertical axis: shares end at one, errors begin at zero. */
export function up(quantity) {
  const isShare = ["cosine2", "recovery", "gradient"].includes(quantity);
  // A title that is longer than its axis would be cut.
  const text = QUANTITIES[quantity].replace(" with the hidden directions", "");
  return { title: { text }, ...(isShare ? { range: [0, 1.05] } : { rangemode: "tozero" }) };
}

/** Thin line across a picture at a moment of its time; none of the curves is drawn again. */
export function markMoment(plot, time) {
  const area = plot.querySelector?.(".nsewdrag"),
    axis = plot._fullLayout?.xaxis;
  if (!area || !axis || axis.type !== "log") return;
  let mark = plot.querySelector(".moment");
  if (!mark) {
    mark = document.createElement("div");
    mark.className = "moment";
    plot.append(mark);
  }
  const [box, own] = [area.getBoundingClientRect(), plot.getBoundingClientRect()];
  const share = (Math.log10(time) - axis.range[0]) / (axis.range[1] - axis.range[0]);
  mark.style.left = `${box.left - own.left + share * box.width}px`;
  mark.style.top = `${box.top - own.top}px`;
  mark.style.height = `${box.height}px`;
  mark.hidden = share < 0 || share > 1;
}
