// Curves of theories: asked for one after the other, coarse ones first, and drawn together.
import { across, drawTraces, plain, QUANTITIES, up } from "./charts.js";
import { ask } from "./server.js";


export const FINEST = 40; // points of a line
const ROUNDS = [5, 12, 20, 30, FINEST]; // of one that takes long, so that something is seen soon

/**
 * Ask for the curves of theories and draw what there is after each answer.
 * `told` hears whether more will come; resolves to the warnings of the theories, and to the points
 * that were reached: a picture that stands stays when finer lines take too long.
 */
export async function follow({ kind, target, theories, sliders, top, plot, quantity, told, isKnown }) {
  const found = new Map(),
    notes = new Map();   // of the last line of each theory
  let reached = FINEST;
  const rounds = (theory) => (theory.is_slow && !isKnown ? ROUNDS : [FINEST]);
  const steps = theories.flatMap((theory) => rounds(theory).map((points) => ({ theory, points })));
  steps.sort((a, b) => rounds(a.theory).indexOf(a.points) - rounds(b.theory).indexOf(b.points));
  for (const step of steps) {
    const { theory, points } = step;
    const own = Object.entries(sliders).filter(([name]) => name.startsWith(`${theory.key}.`));
    const given = {
      ...target,
      theory: theory.key,
      top,
      points,
      sliders: own.map((pair) => pair.join(":")).join(","),
    };
    try {
      const answer = await ask(kind, "/api/predict", given);
      found.set(theory.key, answer.series);
      notes.set(theory.key, answer.notes);
      await drawCurves(plot, [...found.values()].flat(), theory.axis, quantity, answer.marks);
    } catch (error) {
      if (error.status !== 503 || found.size < theories.length) throw error;
      notes.set("", ["More points of these curves take too long for the page."]);
      reached = Math.min(...[...found.values()].map((series) => series[0].x.length));
      break;
    }
    told(step !== steps.at(-1));
  }
  plot.setAttribute("data-drawn", Number(plot.getAttribute("data-drawn")) + 1);
  return { notes: [...new Set([...notes.values()].flat())], points: reached };
}

/** Quantities that curves have, with their names, and all of them together if there are two. */
export function choices(kind, axis) {
  const names =
    kind === "gradient"
      ? ["gradient"]
      : axis === "kappa"
        ? ["excess_mse"]
        : axis === "time"
          ? ["recovery", "test_mse"]
          : ["test_mse", "cosine2"];
  const found = Object.fromEntries(names.map((name) => [name, QUANTITIES[name]]));
  return names.length > 1 ? { ...found, both: "both" } : found;
}

/** Gray lines, each with its name for the legend: where stages open, and the error of predicting the mean. */
function grayLines({ openings = {}, level } = {}, drawn, axis) {
  if (axis !== "alpha") return [];
  const last = Math.max(...drawn.flatMap((one) => one.x));
  const gray = (name, dash, ends) => ({ name, type: "line", ...ends, line: { color: "#888888", width: 1, dash } });
  const found = Object.entries(openings).flatMap(([name, places], i) =>
    places
      .filter((place) => place < last)
      .map((place) => gray(name, ["dash", "dashdot"][i], { x0: place, x1: place, yref: "paper", y0: 0, y1: 1 })));
  if (level != null && drawn[0].quantity === "test_mse")   // errors stand on the first axis
    found.push(gray("predicting the mean", "dot", { xref: "paper", x0: 0, x1: 1, y0: level, y1: level }));
  return found;
}

/** What the gray lines are, for the legend. */
const grayKeys = (lines) =>
  [...new Map(lines.map((one) => [one.name, one.line]))].map(([name, line]) => ({
    x: [null], y: [null], name, mode: "lines", type: "scatter", line,
  }));

function drawCurves(plot, series, axis, quantity, marks) {
  const kept = series.filter((one) => quantity === "both" || one.quantity === quantity);
  const drawn = kept.length ? kept : series;
  const quantities = [...new Set(drawn.map((one) => one.quantity))];
  const traces = drawn.map((one) => {
    const name = plain(one.name);
    return {
      x: one.x,
      y: one.y,
      // Each quantity has an axis of its own.
      yaxis: one.quantity === quantities[0] ? "y" : "y2",
      name,
      mode: "lines",
      type: "scatter",
      line: { color: one.color, width: 2.6, dash: one.dash },
      hovertemplate: `${name}<br>%{x:.3g}, %{y:.4g}<extra></extra>`,
    };
  });
  const xaxis = across(
    axis,
    drawn.flatMap((one) => one.x),
  );
  const shapes = grayLines(marks, drawn, axis);
  traces.push(...grayKeys(shapes));
  if (quantities.length === 1) return drawTraces(plot, traces, { xaxis, yaxis: up(quantities[0]), shapes });
  return drawTraces(plot, traces, {
    xaxis: { ...xaxis, anchor: "y2" },
    yaxis: { ...up(quantities[0]), domain: [0.54, 1] },
    yaxis2: { ...up(quantities[1]), domain: [0, 0.46] },
    shapes,
  });
}
