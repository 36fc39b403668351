// The prediction of a theory: choose it, move what it depends on, the curve follows.
import { ask, byId, debounced, draw, element, link, say, tell } from "./dom.js";
import { change, onChange, state, targetQuery } from "./state.js";

let known = [];
let shown = "";
const TOPS = { alpha: ["largest n/d", 0.5, 20, 4], time: ["longest time", 1, 100, 10], kappa: ["largest log n / log d", 1.2, 4, 3] };

export function startPredict() {
  onChange((keys) => {
    if (state.tab !== "predict") return;
    if (["tab", "target", "noise"].some((key) => keys.includes(key))) load();
    else if (keys.includes("theory")) { list(); predict(); }
    else if (keys.includes("sliders") || keys.includes("top")) predict();
  });
  if (state.tab === "predict") load();
}

async function load() {
  try {
    const query = targetQuery();
    if (shown !== JSON.stringify(query)) {
      const found = await ask("sources", "/api/sources", query);
      shown = JSON.stringify(query);
      known = found.theories;
    }
    list();
    await predict();
  } catch (error) {
    tell(byId("predict-state"), error);
  }
}

const chosen = () => known.find((one) => one.key === state.theory && !one.reason)
  ?? known.find((one) => one.key === "random_features" && !one.reason) ?? known.find((one) => !one.reason);

function list() {
  const now = chosen();
  byId("theories").replaceChildren(...known.flatMap((one) => {
    const box = element("input", { type: "radio", name: "theory", value: one.key, disabled: Boolean(one.reason),
      onchange: () => change({ theory: one.key, sliders: "", top: TOPS[one.axis][3] }) });
    box.checked = one === now;
    const dot = element("span", { class: "dot", style: `background:${one.color}`, "aria-hidden": "true" });
    const row = [element("label", { class: "choice" }, box, dot, one.label)];
    if (one.reason) row.push(element("span", { class: "why-not" }, `not here: ${one.reason}`));
    return row;
  }));
  if (!now) return;
  const [label, low, high] = TOPS[now.axis];
  const values = readSliders();
  const moved = debounced(120, (name, value) => {
    if (name === "top") change({ top: value });
    else change({ sliders: writeSliders({ ...readSliders(), [name]: value }) });
  });
  const top = { name: "top", label, low, high, value: clamp(Number(state.top), low, high) };
  byId("sliders").replaceChildren(...[top, ...now.sliders].map((one) => slider(one, values, moved)),
    slider({ name: "noise", label: "label noise", low: 0, high: 1, value: Number(state.noise) || 0, linear: true }, {},
      debounced(120, (_, value) => change({ noise: Number(value) ? value : "" }))));
}

const clamp = (value, low, high) => Math.min(high, Math.max(low, value || low));
const readSliders = () => Object.fromEntries(state.sliders.split(",").filter(Boolean).map((part) => part.split(":")));
const writeSliders = (values) => Object.entries(values).map((pair) => pair.join(":")).join(",");

function slider(one, values, moved) {
  const value = Number(values[one.name] ?? one.value), id = `slider-${one.name}`;
  const scale = one.linear ? (x) => x : Math.log10, back = one.linear ? (x) => x : (x) => 10 ** x;
  const shownValue = element("output", { for: id }, String(Number(value.toPrecision(3))));
  const range = element("input", { id, type: "range", min: scale(one.low), max: scale(one.high), step: "any" });
  range.value = scale(value);
  range.setAttribute("aria-valuetext", shownValue.textContent);
  range.addEventListener("keydown", (event) => {   // "any" has no step for keys
    const way = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (!way) return;
    event.preventDefault();
    range.value = Number(range.value) + way * (Number(range.max) - Number(range.min)) / 40;
    range.dispatchEvent(new Event("input"));
  });
  range.addEventListener("input", () => {
    const text = String(Number(back(Number(range.value)).toPrecision(3)));
    shownValue.textContent = text;
    range.setAttribute("aria-valuetext", text);
    moved(one.name, text);
  });
  return element("div", { class: "slider" }, element("label", { for: id }, one.label, shownValue), range);
}

async function predict() {
  const now = chosen(), place = byId("predict-state"), plot = byId("predict-plot");
  if (!now) {
    say(place, "No theory of this page covers the target.");
    return;
  }
  const query = { ...targetQuery(), theory: now.key, sliders: state.sliders, top: clamp(Number(state.top), TOPS[now.axis][1], TOPS[now.axis][2]) };
  byId("predict-links").replaceChildren(...[["CSV", "csv"], ["SVG", "svg"], ["PNG", "png"], ["Python script", "py"]]
    .map(([text, form]) => link(text, "/api/predict", { ...query, form })));
  say(place, "computing…");
  plot.classList.add("stale");
  try {
    for (const points of [4, 12]) {   // some curves take long: a coarse one first
      const found = await ask("predict", "/api/predict", { ...query, points });
      await draw(plot, found.picture);
      plot.classList.remove("stale");
      plot.setAttribute("data-theory", now.key);
      say(place, points === 12 ? `${now.label}: the limit of large dimensions. ${found.notes.join(" ")}` : "computing more points…");
    }
  } catch (error) {
    tell(place, error);
  }
}
