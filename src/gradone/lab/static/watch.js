// Runs: algorithms race along the samples, or neurons move in time. The run lives on the server.
import { ask, byId, drawTraces, element, link, say, tell } from "./dom.js";
import { change, onChange, state, targetQuery } from "./state.js";

const QUANTITIES = { test_mse: "test error", excess_mse: "error without noise", cosine2: "squared cosines with the hidden directions", recovery: "recovery of each direction" };
const MARKERS = ["circle", "square", "diamond", "triangle-up", "triangle-down", "star", "hexagon", "cross"];
const AXES = { alpha: "samples per dimension n/d", kappa: "log n / log d", time: "time = samples / d" };
let source = null, events = [], asked = null, sources = null, shown = "", frame = 0;

export function startWatch() {
  byId("watch-form").addEventListener("submit", (event) => { event.preventDefault(); start(); });
  byId("stop").addEventListener("click", stop);
  byId("quantity").addEventListener("change", () => change({ quantity: byId("quantity").value }));
  for (const [id, key] of [["watch-d", "d"], ["watch-seeds", "seeds"], ["watch-seed", "seed"]]) {
    byId(id).value = state[key];
    byId(id).addEventListener("change", () => change({ [key]: byId(id).value }));
  }
  for (const one of document.querySelectorAll("input[name=view]")) {
    one.checked = one.value === state.view;
    one.addEventListener("change", () => change({ view: one.value, algorithms: "" }));
  }
  onChange((keys) => {
    if (keys.includes("run") && !state.run) forget();
    if (keys.includes("quantity")) redraw();
    if (state.tab === "watch" && ["tab", "target", "noise", "view"].some((key) => keys.includes(key))) load();
  });
  if (state.run) attach(state.run);
  if (state.tab === "watch") load();
}

async function load() {
  try {
    const query = targetQuery();
    if (shown !== JSON.stringify(query)) {
      sources = await ask("watch sources", "/api/sources", query);
      shown = JSON.stringify(query);
    }
    list();
  } catch (error) {
    tell(byId("watch-state"), error);
  }
  redraw();
}

function list() {
  for (const one of document.querySelectorAll("input[name=view]")) one.checked = one.value === state.view;
  const rows = state.view === "time"
    ? Object.entries(sources.rules).map(([key, label]) => ({ key, label, color: key === "plain" ? "#009E73" : "#CC79A7", is_there: true }))
    : sources.race;
  const given = state.algorithms.split(",").filter(Boolean);
  const first = state.view === "time" ? ["plain", "extragradient"] : sources.axis === "kappa" ? ["layerwise", "dot_kernel_ridge"] : ["bayes_amp", "random_features", "giant_step"];
  const chosen = given.length ? given : first;
  byId("algorithms").replaceChildren(...rows.flatMap((one) => {
    const box = element("input", { type: "checkbox", name: "algorithm", value: one.key, disabled: !one.is_there,
      onchange: () => change({ algorithms: picked().join(",") }) });
    box.checked = one.is_there && chosen.includes(one.key);
    const dot = element("span", { class: "dot", style: `background:${one.color}`, "aria-hidden": "true" });
    const row = [element("label", { class: "choice" }, box, dot, one.label)];
    const reasons = [one.theory && `theory: ${one.theory}`, one.simulation && `simulation: ${one.simulation}`].filter(Boolean);
    if (reasons.length) row.push(element("span", { class: "why-not" }, reasons.join("; ")));
    return row;
  }));
  if (!rows.length) byId("algorithms").textContent = "Neurons in time are for targets of a few directions.";
}

const picked = () => [...document.querySelectorAll("input[name=algorithm]:checked")].map((one) => one.value);

function client() {
  let name = sessionStorage.getItem("client");
  if (!name) {
    name = [...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16)).join("");
    sessionStorage.setItem("client", name);
  }
  return name;
}

async function start() {
  const place = byId("watch-state"), algorithms = picked();
  if (!algorithms.length) {
    tell(place, new Error("Choose at least one algorithm."));
    return;
  }
  if (source) await stop();
  const body = { target: state.target, noise: state.noise === "" ? null : Number(state.noise), d: Number(byId("watch-d").value),
    seed: Number(byId("watch-seed").value), seeds: Number(byId("watch-seeds").value), view: state.view, algorithms, client: client() };
  say(place, "starting…");
  byId("start").disabled = true;
  try {
    const found = await ask("start", "/api/runs", {}, { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" } });
    change({ run: found.run, quantity: "" });
    attach(found.run);
  } catch (error) {
    tell(place, error);
  }
  byId("start").disabled = false;
}

function forget() {
  source?.close();
  source = null;
  events = [];
  asked = null;
  byId("stop").disabled = true;
  say(byId("watch-state"), "Choose algorithms and press Start.");
  redraw();
}

async function attach(run) {
  const place = byId("watch-state");
  source?.close();
  events = [];
  try {
    asked = (await ask("run", `/api/runs/${encodeURIComponent(run)}`)).parameters;
  } catch (error) {
    if (error.status === 404) change({ run: "" });
    tell(place, error);
    return;
  }
  const names = asked.axis === "time" ? ["recovery"] : asked.axis === "kappa" ? ["excess_mse", "test_mse"] : ["test_mse", "cosine2"];
  byId("quantity").replaceChildren(...names.map((name) => element("option", { value: name }, QUANTITIES[name])));
  byId("quantity").value = names.includes(state.quantity) ? state.quantity : names[0];
  byId("absent").replaceChildren();
  byId("stop").disabled = false;
  links(run, false);
  source = new EventSource(`/api/runs/${encodeURIComponent(run)}/events`);
  source.addEventListener("message", (message) => hear(run, JSON.parse(message.data)));
  source.addEventListener("error", () => { if (source) say(place, "connection lost, trying again…"); });
}

function hear(run, event) {
  const place = byId("watch-state");
  if (event.kind === "wait") say(place, `busy, place ${event.place} in the queue`);
  if (event.kind === "begin") say(place, "running…");
  if (event.kind === "progress") say(place, `running: ${event.done} of ${event.total} pieces`);
  if (["absent", "failed", "note"].includes(event.kind)) byId("absent").append(element("li", {}, `${event.label} (${event.source.split(":")[0]}): ${event.why}`));
  if (event.kind === "report") links(run, true);
  if (event.kind === "curve") {
    events.push(event);
    redraw();
  }
  if (event.kind === "end") {
    source.close();
    source = null;
    byId("stop").disabled = true;
    const words = { done: "done", stopped: event.message || "stopped", failed: event.message };
    if (event.status === "failed") tell(place, new Error(words.failed));
    else say(place, `${words[event.status]}: ${events.length} pieces of curves`);
  }
}

function links(run, hasReport) {
  const base = `/api/runs/${encodeURIComponent(run)}`;
  const quantity = byId("quantity").value;
  byId("watch-links").replaceChildren(
    link("CSV", `${base}/picture`, { form: "csv", quantity }), link("SVG", `${base}/picture`, { form: "svg", quantity }),
    link("PNG", `${base}/picture`, { form: "png", quantity }), link("Python script", `${base}/script`),
    ...(hasReport ? [link("HTML report", `${base}/report`)] : []));
}

async function stop() {
  if (!state.run) return;
  byId("stop").disabled = true;
  try {
    await ask("stop", `/api/runs/${encodeURIComponent(state.run)}/cancel`, {}, { method: "POST" });
  } catch (error) {
    tell(byId("watch-state"), error);
  }
}

function redraw() {
  cancelAnimationFrame(frame);
  frame = requestAnimationFrame(() => {
    const plot = byId("watch-plot"), plane = byId("plane-plot");
    const isEmpty = !asked || !events.length;
    plot.hidden = byId("quantity").parentElement.hidden = isEmpty;
    const paths = events.filter((one) => one.paths && one.paths[0]?.[0]?.length === 2);
    plane.hidden = isEmpty || !paths.length;
    byId("watch-text").textContent = isEmpty ? "" : asked.axis === "time"
      ? "Lines are the flow in the limit of large dimensions, points one run of two ReLU neurons. Below: their overlaps with the first two hidden directions, from the small circles on."
      : `Lines are theory ${asked.axis === "kappa" ? "at this dimension" : "in the limit of large dimensions"}, points are simulations in d = ${asked.d}; each seed has its own mark.`;
    if (isEmpty || byId("panel-watch").hidden) return;
    drawCurves(plot);
    if (paths.length) drawPlane(plane, paths);
    plot.setAttribute("data-pieces", events.length);
  });
}

function drawCurves(plot) {
  const quantity = byId("quantity").value, joined = new Map();
  for (const event of events) {
    for (const part of event.parts) {
      if (part.quantity !== quantity) continue;
      const key = `${event.source} ${part.name} ${event.seed}`;
      if (!joined.has(key)) joined.set(key, { event, name: part.name, rows: [] });
      joined.get(key).rows.push(...part.x.map((x, i) => [x, part.y[i], part.error[i]]));
    }
  }
  const named = new Set(), traces = [];
  for (const { event, name, rows } of joined.values()) {
    rows.sort((a, b) => a[0] - b[0]);
    const isTheory = event.source.startsWith("theory:");
    const label = `${event.label}, ${isTheory ? "theory" : "simulation"}`;
    const place = Math.max(0, (Number(name.replace("z", "")) || 1) - 1);
    const trace = { x: rows.map((row) => row[0]), y: rows.map((row) => row[1]), name: label, legendgroup: label,
      showlegend: !named.has(label), type: "scatter", hovertemplate: `${label}${name && `, ${name}`}<br>%{x:.3g}, %{y:.4g}<extra>${isTheory ? "" : `seed ${event.seed}`}</extra>` };
    named.add(label);
    if (isTheory) Object.assign(trace, { mode: rows.length > 1 ? "lines+markers" : "markers", marker: { size: 3, color: event.color }, line: { color: event.color, width: 2, dash: ["solid", "dash", "dot", "dashdot"][place % 4] } });
    else Object.assign(trace, { mode: "markers", marker: { color: event.color, size: 8, opacity: 0.75, symbol: MARKERS[(name ? place : event.seed) % MARKERS.length] },
      error_y: { type: "data", array: rows.map((row) => row[2] ?? 0), thickness: 1, width: 0, visible: rows.some((row) => row[2] > 0) } });
    traces.push(trace);
  }
  traces.sort((a, b) => (a.mode === "markers") - (b.mode === "markers"));
  const isShare = quantity === "cosine2" || quantity === "recovery";
  drawTraces(plot, traces, {
    xaxis: { title: { text: AXES[asked.axis] }, type: asked.axis === "time" ? "log" : "linear", ...(asked.axis === "time" ? { dtick: 1, exponentformat: "power" } : asked.axis === "alpha" ? { rangemode: "tozero" } : {}) },
    yaxis: { title: { text: QUANTITIES[quantity] }, ...(isShare ? { range: [0, 1.05] } : { rangemode: "tozero" }) },
  });
}

function drawPlane(plane, paths) {
  const traces = paths.filter((one) => !one.source.startsWith("theory:")).flatMap((event) => event.paths.map((path, neuron) => ({
    x: path.map((point) => point[0]), y: path.map((point) => point[1]), mode: "lines+markers", type: "scatter",
    name: event.label, showlegend: neuron === 0 && event.seed === asked.seed, legendgroup: `${event.source} ${event.seed}`,
    hovertemplate: `${event.label}, seed ${event.seed}, neuron ${neuron + 1}<br>%{x:.3g}, %{y:.3g}<extra></extra>`,
    line: { color: event.color, width: 1.5 }, opacity: 0.85,
    marker: { color: event.color, size: path.map((_, i) => (i === path.length - 1 ? 11 : i === 0 ? 6 : 0.1)), symbol: path.map((_, i) => (i === 0 ? "circle-open" : "circle")) },
  })));
  drawTraces(plane, traces, { height: 430,
    xaxis: { title: { text: "overlap with z1" }, zeroline: true, zerolinecolor: "#bbb" },
    yaxis: { title: { text: "overlap with z2" }, zeroline: true, zerolinecolor: "#bbb", scaleanchor: "x" } });
}
