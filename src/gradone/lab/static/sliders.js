// Sliders on a logarithmic (or linear) scale that say their value, by mouse, finger and keys.
import { element } from "./dom.js";

const STEPS = 40;   // steps of the arrow keys over the whole scale

/** Slider of {name, label, low, high, value, linear}; tells `moved` its value as text. */
export function slider(one, moved) {
  const id = `slider-${one.name.replace(".", "-")}`;
  const scale = one.linear ? (x) => x : Math.log10, back = one.linear ? (x) => x : (x) => 10 ** x;
  const text = (value) => String(Number(Number(value).toPrecision(3)));
  const shown = element("output", { for: id }, text(one.value));
  const range = element("input", { id, type: "range", min: scale(one.low), max: scale(one.high), step: "any" });
  range.value = scale(one.value);
  range.setAttribute("aria-valuetext", shown.textContent);
  range.addEventListener("keydown", (event) => {   // "any" has no step for keys
    const way = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (!way) return;
    event.preventDefault();
    range.value = Number(range.value) + way * (Number(range.max) - Number(range.min)) / STEPS;
    range.dispatchEvent(new Event("input"));
  });
  range.addEventListener("input", () => {
    shown.textContent = text(back(Number(range.value)));
    range.setAttribute("aria-valuetext", shown.textContent);
    moved(shown.textContent);
  });
  return element("div", { class: "slider" }, element("label", { for: id }, one.label, shown), range);
}

/** Values of sliders as they stand in the address: "random_features.ridge:0.1,…". */
export const readSliders = (text) => Object.fromEntries(text.split(",").filter(Boolean).map((part) => part.split(":")));
export const writeSliders = (values) => Object.entries(values).map((pair) => pair.join(":")).join(",");
