// Small helpers: elements, formulas, pictures, requests.

export const byId = (id) => document.getElementById(id);

/** Element with attributes and children; text is always text, never markup. */
export function element(name, attributes = {}, ...children) {
  const found = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) found.addEventListener(key.slice(2), value);
    else if (typeof value === "boolean") found.toggleAttribute(key, value);
    else found.setAttribute(key, value);
  }
  found.append(...children);
  return found;
}

/** A formula by KaTeX; its source as text if KaTeX cannot read it. */
export function showFormula(place, latex) {
  if (!latex) place.replaceChildren();
  else window.katex.render(latex, place, { displayMode: true, throwOnError: false, trust: false, fleqn: true });
}

const CONFIG = { responsive: true, displayModeBar: false };

/** Text in which ^2 is raised and C_1 lowered. */
export function scripted(text) {
  const parts = text.split(/(?<=[\w|)])\^(\d+(?:\.\d+)?|\w+)|(?<=\b(?:C|He|h|P|d))_(\d+)\b/);
  return parts.flatMap((part, i) => {
    if (!part) return [];
    return [i % 3 ? element(i % 3 === 1 ? "sup" : "sub", {}, part) : part];
  });
}

/** Picture that the server describes; the page gives it its width. */
export function draw(place, picture, shorter = 0) {
  const layout = structuredClone(picture.layout);
  layout.height -= layout.margin.t - 14 + shorter;
  layout.margin.t = 14;
  layout.font = { ...layout.font, family: getComputedStyle(document.body).fontFamily };
  return window.Plotly.react(place, picture.data, layout, CONFIG);
}

export function drawTraces(place, traces, layout) {
  const font = { family: getComputedStyle(document.body).fontFamily, size: 13, color: "#1a1d21" };
  const axis = { showline: true, linecolor: "#777", zeroline: false, gridcolor: "#eceff1", ticks: "outside" };
  return window.Plotly.react(place, traces, {
    font, height: 430, margin: { l: 62, r: 16, t: 14, b: 56 }, paper_bgcolor: "white", plot_bgcolor: "white",
    legend: { orientation: "h", y: -0.2, yanchor: "top", x: 0 }, hovermode: "closest",
    ...layout, xaxis: titled(axis, layout.xaxis), yaxis: titled(axis, layout.yaxis),
  }, CONFIG);
}

function titled(axis, own) {
  return { ...axis, ...own, title: { ...own.title, font: { size: 13 }, standoff: 8 } };
}

/** Mistake that the server explains: message, and where known the column. */
export class Refused extends Error {
  constructor(body, status) {
    super(body.message || "the lab did not answer");
    Object.assign(this, { column: body.column, width: body.width || 1, hint: body.hint || "", status });
  }
}

const waiting = new Map();

/** Answer of the server; a newer request of the same kind ends the older one. */
export async function ask(kind, address, parameters = {}, options = {}) {
  waiting.get(kind)?.abort();
  const control = new AbortController();
  waiting.set(kind, control);
  const given = Object.entries(parameters).filter(([, value]) => value !== "" && value != null);
  const query = new URLSearchParams(given).toString();
  let answer;
  try {
    answer = await fetch(query ? `${address}?${query}` : address, { ...options, signal: control.signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused({ message: "The lab cannot be reached. Is it still running?" }, 0);
  }
  const body = await answer.json();
  if (!answer.ok) throw new Refused(body, answer.status);
  return body;
}

/** Say what went wrong; requests that were replaced by newer ones are no mistake. */
export function tell(place, error) {
  if (error.name === "AbortError") return;
  place.textContent = [error.message, error.hint].filter(Boolean).join(" ");
  place.classList.add("bad");
}

export function say(place, text) {
  place.textContent = text;
  place.classList.remove("bad");
}

export function link(text, address, parameters = {}) {
  const given = Object.entries(parameters).filter(([, value]) => value !== "" && value != null);
  const query = new URLSearchParams(given).toString();
  return element("a", { href: query ? `${address}?${query}` : address, download: "" }, text);
}

export function debounced(wait, action) {
  let timer;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...given), wait);
  };
}
