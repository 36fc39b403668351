// Runs: algorithms race along the samples, or neurons move in time. The run lives on the server.
import { byId, choice, element, fill, folded, say, tell } from "./dom.js";
import { drawRun, QUANTITIES_OF } from "./run_charts.js";
import { movePlane, showPlane, stopPlane } from "./plane.js";
import { ask, client, giveUp, offer } from "./server.js";
import { change, onChange, state, targetQuery, touches } from "./state.js";

let source = null,
  events = [],
  asked = null,
  sources = null,
  known = "",
  frame = 0;
const NUMBERS = [
  ["watch-d", "d"],
  ["watch-seeds", "seeds"],
  ["watch-seed", "seed"],
];
const LAWS = ["inputs", "directions"];
const SIZES = { time: "400", kappa: "64", alpha: "200" };

export function startWatch() {
  byId("watch-form").addEventListener("submit", (event) => {
    event.preventDefault();
    start();
  });
  byId("stop").addEventListener("click", stop);
  byId("quantity").addEventListener("change", () => change({ quantity: byId("quantity").value }));
  byId("seed-shown").addEventListener("change", () => change({ shown: byId("seed-shown").value }));
  for (const [id, key] of NUMBERS)
    byId(id).addEventListener("change", () => change({ [key]: byId(id).value }));
  for (const key of LAWS)
    byId(`watch-${key}`).addEventListener("change", () => change({ [key]: byId(`watch-${key}`).value }));
  for (const one of document.querySelectorAll("input[name=view]")) {
    one.addEventListener("change", () => change({ view: one.value, algorithms: "", d: "" }));
  }
  onChange((keys) => {
    if (touches(keys, "run") && !state.run) forget();
    if (touches(keys, "quantity", "shown", "size")) redraw();
    // What somebody has just set is not drawn again: a click between press and release would be lost.
    if (state.tab === "watch" && touches(keys, "tab", "target", "noise", "view")) load();
  });
  if (state.run) attach(state.run);
  if (state.tab === "watch") load();
}

/** Start what the address says, as if somebody had pressed the button. */
export async function watchNow() {
  await load();
  await start();
}

async function load() {
  try {
    const query = JSON.stringify(targetQuery());
    if (known !== query) {
      sources = await ask("watch sources", "/api/sources", targetQuery());
      known = query;
    }
    list();
  } catch (error) {
    tell(byId("watch-state"), error);
  }
  redraw();
}

const axisNow = () => (state.view === "time" ? "time" : sources.axis);

function list() {
  for (const one of document.querySelectorAll("input[name=view]")) one.checked = one.value === state.view;
  byId("watch-d").value = state.d || SIZES[axisNow()];
  byId("watch-seeds").value = state.seeds;
  byId("watch-seed").value = state.seed;
  for (const key of LAWS) byId(`watch-${key}`).value = state[key];
  byId("watch-laws").hidden = state.view === "time";
  const rows = state.view === "time" ? sources.watched : sources.race;
  const given = state.algorithms.split(",").filter(Boolean);
  const chosen = given.length ? given : rows.filter((one) => one.is_first).map((one) => one.key);
  const row = (one) =>
    choice({
      type: "checkbox",
      name: "algorithm",
      value: one.key,
      label: one.label,
      color: one.color,
      reason: reason(one),
      isThere: one.is_there,
      isChosen: chosen.includes(one.key),
      onchange: () => change({ algorithms: picked().join(",") || "none" }),
    });
  const there = rows.filter((one) => one.is_there);
  const isFirst = (one) => one.is_first || chosen.includes(one.key);
  const focused = document.activeElement?.name === "algorithm" ? document.activeElement.value : null;
  byId("algorithms").replaceChildren(
    ...there.filter(isFirst).flatMap(row),
    ...folded("More algorithms", there.filter((one) => !isFirst(one)), row),
    ...folded("Not for this target, and why", rows.filter((one) => !one.is_there), row),
  );
  if (!there.length)
    byId("algorithms").append(
      "Neurons can be shown only for targets with a fixed number of directions. " +
        "The number of directions of this target grows with d.",
    );
  if (focused) byId("algorithms").querySelector(`input[value="${focused}"]`)?.focus();
  byId("start").disabled = !there.length;
}

/** What is not there of an algorithm, and why. */
function reason({ theory, simulation, is_there: isThere }) {
  if (!isThere) return theory ?? simulation;
  return [
    theory && `only points: ${theory}`,
    simulation && `only a line: ${simulation}`,
  ]
    .filter(Boolean)
    .join("; ");
}

const picked = () => [...document.querySelectorAll("input[name=algorithm]:checked")].map((one) => one.value);

async function start() {
  const place = byId("watch-state"),
    algorithms = picked();
  if (!algorithms.length) {
    tell(place, new Error("Choose at least one algorithm."));
    return;
  }
  if (source) await stop();
  const numbers = Object.fromEntries(NUMBERS.map(([id, key]) => [key, Number(byId(id).value)]));
  const body = {
    target: state.target,
    noise: state.noise === "" ? null : Number(state.noise),
    ...numbers,
    ...(state.view === "time" ? {} : { inputs: state.inputs, directions: state.directions }),
    view: state.view,
    algorithms,
    client: client(),
  };
  forget();
  say(place, "Starting…");
  byId("watch-columns").classList.add("results-first"); // on a phone: who has chosen waits for curves
  place.scrollIntoView({ block: "nearest" });
  byId("start").disabled = true;
  byId("stop").disabled = false;
  redraw();
  try {
    const found = await ask(
      "start",
      "/api/runs",
      {},
      { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" } },
    );
    change({ run: found.run, shown: "" });
    await attach(found.run);
  } catch (error) {
    byId("stop").disabled = true;
    redraw();
    if (error.name === "AbortError") say(place, "The run was stopped before it began.");
    else tell(place, error);
  }
  byId("start").disabled = false;
}

function forget() {
  source?.close();
  source = null;
  events = [];
  asked = null;
  stopPlane();
  byId("stop").disabled = true;
  byId("watch-progress").hidden = true;
  byId("watch-plot").removeAttribute("data-pieces");
  byId("watch-columns").classList.remove("results-first");
  say(byId("watch-state"), "Choose algorithms and press Start.");
  redraw();
}

async function attach(run) {
  const place = byId("watch-state"),
    path = `/api/runs/${encodeURIComponent(run)}`;
  source?.close();
  events = [];
  try {
    asked = (await ask("run", path)).parameters;
  } catch (error) {
    if (error.status === 404) {
      change({ run: "" }); // the address has all that it was made with
      await watchNow();
    } else tell(place, error);
    return;
  }
  fill(byId("quantity"), QUANTITIES_OF[asked.axis], state.quantity);
  const seeds = Array.from({ length: asked.seeds }, (_, i) => asked.seed + i);
  const shown = {
    all: "all seeds",
    mean: "the mean of the seeds",
    ...Object.fromEntries(seeds.map((one) => [`s${one}`, `seed ${one}`])),
  };
  fill(byId("seed-shown"), shown, state.shown);
  byId("seed-choice").hidden = asked.seeds === 1;
  byId("absent").replaceChildren();
  byId("watch-columns").classList.add("results-first");
  byId("stop").disabled = false;
  source = new EventSource(`${path}/events`);
  source.addEventListener("message", (message) => hear(JSON.parse(message.data)));
  source.addEventListener("error", () => {
    if (source) say(place, "The connection was lost. Trying again…");
  });
}

function hear(event) {
  const place = byId("watch-state"),
    bar = byId("watch-progress");
  if (event.kind === "wait") say(place, `The lab is busy. This run has place ${event.place} in the queue.`);
  if (event.kind === "begin") say(place, "The algorithms are running…");
  if (event.kind === "progress") {
    say(place, `The algorithms are running: ${event.done} of ${event.total} pieces.`);
    bar.hidden = false;
    bar.value = event.done / event.total;
  }
  if (["absent", "failed", "note"].includes(event.kind)) {
    const kind = event.source.split(":")[0];
    byId("absent").append(element("li", {}, `${event.label} (${kind}): ${event.why}`));
  }
  if (event.kind === "curve") {
    events.push(event);
    redraw();
  }
  if (event.kind === "end") ended(event);
}

function ended({ status, message }) {
  const place = byId("watch-state");
  source.close();
  source = null;
  byId("stop").disabled = true;
  byId("watch-progress").hidden = true;
  if (status === "failed") tell(place, new Error(message));
  else if (status === "stopped")
    say(place, `${message || "The run was stopped"}. The results so far are kept.`);
  else say(place, `The run is done. It gave ${events.length} pieces of curves.`);
}

async function stop() {
  if (!state.run) {
    giveUp("start");
    return;
  }
  byId("stop").disabled = true;
  try {
    await ask("stop", `/api/runs/${encodeURIComponent(state.run)}/cancel`, {}, { method: "POST" });
  } catch (error) {
    tell(byId("watch-state"), error);
  }
}

function links() {
  const path = `/api/runs/${encodeURIComponent(state.run)}`,
    quantity = byId("quantity").value,
    shown = byId("seed-shown").value;
  offer(byId("watch-links"), [
    ...["csv", "svg", "png"].map((form) => [form, `${path}/picture`, { form, quantity, shown }]),
    ...(asked.view === "time" ? [["gif", `${path}/animation`]] : []),
    ["py", `${path}/script`],
    ["html", `${path}/report`],
  ]);
}

function redraw() {
  cancelAnimationFrame(frame); // many events may come between two pictures
  frame = requestAnimationFrame(() => {
    const isEmpty = !asked || !events.length;
    byId("watch-results").hidden = isEmpty;
    byId("watch-empty").hidden = !isEmpty;
    byId("watch-wait").hidden = byId("stop").disabled;
    if (isEmpty || byId("panel-watch").hidden) return;
    links();
    const hasPlane = showPlane(events, asked);
    byId("watch-charts").classList.toggle("two", hasPlane);
    byId("watch-text").replaceChildren(
      ...drawRun(byId("watch-plot"), events, asked, byId("quantity").value, byId("seed-shown").value),
    );
    if (hasPlane) movePlane();
    byId("watch-plot").setAttribute("data-pieces", events.length);
  });
}
