// Curves of a run on one pair of axes: lines are theory, points are simulations.
import { across, drawTraces, QUANTITIES, up } from "./charts.js";
import { element } from "./dom.js";

export const QUANTITIES_OF = {
  time: { recovery: QUANTITIES.recovery },
  kappa: { excess_mse: QUANTITIES.excess_mse, test_mse: QUANTITIES.test_mse },
  alpha: { test_mse: QUANTITIES.test_mse, cosine2: QUANTITIES.cosine2 },
};
const MARKERS = ["circle", "square", "diamond", "triangle-up", "triangle-down", "star", "hexagon", "cross"];
const DASHES = ["solid", "dash", "dot", "dashdot"];
const MOST_POINTS = 32; // points that touch each other hide the line

/** Draw one quantity of a run; returns what to say about the picture. */
export function drawRun(plot, events, asked, quantity, shown) {
  const { curves, without } = joined(events, quantity);
  // In time each seed has a start, and a theory, of its own; along samples a theory knows of no seed.
  const isAlone = (one) => one.isTheory && asked.axis !== "time";
  const kept =
    shown === "mean"
      ? [...curves.filter(isAlone), ...averaged(curves.filter((one) => !isAlone(one)))]
      : curves.filter((one) => isAlone(one) || shown === "all" || shown === `s${one.seed}`);
  const names = [...new Set(kept.map((one) => one.name).filter(Boolean))].sort();
  const named = new Set();
  const isMany = names.length > 1;
  const traces = kept
    .map((one) => trace(one, asked, shown, named, isMany, plot))
    .sort((a, b) => (a.mode === "markers") - (b.mode === "markers"));
  // Which direction is which stands in gray: colors are those of the algorithms.
  if (isMany) {
    traces.push(
      ...names.map((name) => ({
        x: [null],
        y: [null],
        name: quantity === "cosine2" ? `cos²θ<sub>${name}</sub>` : name.replace(/z(\d)/, "z<sub>$1</sub>"),
        mode: "lines+markers",
        type: "scatter",
        line: { color: "#808890", width: 2, dash: DASHES[place(name) % 4] },
        marker: { color: "#808890", size: 8, symbol: MARKERS[place(name) % 8] },
      })),
    );
  }
  drawTraces(plot, traces, {
    xaxis: across(
      asked.axis,
      kept.flatMap((one) => one.rows.map((row) => row[0])),
    ),
    yaxis: up(quantity),
  });
  return words(asked, shown, without, quantity, isMany);
}

const place = (name) => Math.max(0, (Number(name.replace("z", "")) || 1) - 1);

function joined(events, quantity) {
  const found = new Map(),
    have = new Set(),
    all = new Map();
  for (const event of events) {
    all.set(event.source, event);
    for (const part of event.parts) {
      if (part.quantity !== quantity) continue;
      have.add(event.source);
      const key = `${event.source} ${part.name} ${event.seed}`;
      if (!found.has(key))
        found.set(key, { ...event, name: part.name, rows: [], isTheory: event.source.startsWith("theory:") });
      found
        .get(key)
        .rows.push(
          ...part.x.map((x, i) => [x, part.y[i], part.error[i] ?? 0]).filter((row) => row[1] !== null),
        );
    }
  }
  for (const one of found.values()) one.rows.sort((a, b) => a[0] - b[0]);
  const without = [...all.values()]
    .filter((one) => !have.has(one.source))
    .map((one) => `${one.label} (${one.source.split(":")[0]})`);
  return { curves: [...found.values()], without };
}

/** Curves averaged over the seeds, with the spread between them. */
function averaged(curves) {
  const groups = new Map();
  for (const one of curves) {
    const key = `${one.source} ${one.name}`;
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(one);
  }
  return [...groups.values()].map((group) => {
    const at = new Map();
    for (const [x, y] of group.flatMap((one) => one.rows)) at.set(x, [...(at.get(x) ?? []), y]);
    const rows = [...at].map(([x, ys]) => {
      const mean = ys.reduce((a, b) => a + b, 0) / ys.length;
      const variance = ys.reduce((a, b) => a + (b - mean) ** 2, 0) / Math.max(ys.length - 1, 1);
      return [x, mean, Math.sqrt(variance)];
    });
    return { ...group[0], rows: rows.sort((a, b) => a[0] - b[0]) };
  });
}

function trace(one, asked, shown, named, isMany, plot) {
  const { label, color, isTheory, name, seed } = one,
    which = place(name);
  const kind = isTheory ? "theory" : shown === "mean" ? "mean of the seeds" : `seed ${seed}`;
  const about = [label, name, kind].filter(Boolean).join(", ");
  const rows = isTheory ? one.rows : thinned(one.rows);
  const found = {
    x: rows.map((row) => row[0]),
    y: rows.map((row) => row[1]),
    name: label,
    legendgroup: label,
    showlegend: !named.has(label),
    type: "scatter",
    hovertemplate: `${about}<br>%{x:.3g}, %{y:.4g}<extra></extra>`,
  };
  named.add(label);
  const symbol = MARKERS[(isMany ? which : seed - asked.seed) % MARKERS.length];
  if (isTheory) {
    const isYoung = rows.length < 6; // a line through few points is not the curve yet
    return {
      ...found,
      mode: isYoung ? "lines+markers" : "lines",
      marker: { size: 6, color },
      line: { color, width: isYoung ? 1 : 2.6, dash: DASHES[which % 4] },
    };
  }
  return {
    ...found,
    mode: "markers",
    marker: {
      color,
      size: plot.clientWidth < 480 ? 7 : 9,
      opacity: 0.85,
      symbol,
      line: { color: "white", width: 1 },
    },
    error_y: {
      type: "data",
      array: rows.map((row) => row[2]),
      thickness: 1.2,
      width: 0,
      color,
      visible: rows.some((row) => row[2] > 0),
    },
  };
}

function thinned(rows) {
  if (rows.length <= MOST_POINTS) return rows;
  return Array.from(
    { length: MOST_POINTS },
    (_, i) => rows[Math.round((i * (rows.length - 1)) / (MOST_POINTS - 1))],
  );
}

function words(asked, shown, without, quantity, isMany) {
  let seeds = "";
  if (asked.seeds > 1 && shown === "mean") seeds = " Bars show the spread between the seeds.";
  if (asked.seeds > 1 && shown === "all" && !isMany) seeds = " Each seed has a symbol of its own.";
  const start = asked.seeds > 1 ? ", from the start of each seed" : "";
  const limit = asked.axis === "kappa" ? "at this dimension" : "in the limit of large dimension";
  const text =
    asked.axis === "time"
      ? `Lines show the flow in the limit of large dimension${start}. ` +
        `Points show one exact run in d = ${asked.d} for each seed.${seeds}`
      : `Lines show the theory ${limit}, points show simulations in d = ${asked.d}.${seeds}`;
  if (!without.length) return [text];
  const lacking = quantity === "cosine2" ? "directions" : "an error";
  const missing = `This picture leaves out what does not report ${lacking}: ${without.join(", ")}.`;
  return [text, element("br"), missing];
}
