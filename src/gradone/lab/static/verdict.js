// The verdict on a target: formula, words, exponents, stairs, energies.
import { draw } from "./charts.js";
import { byId, debounced, element, scripted, showFormula } from "./dom.js";
import { ask, offer } from "./server.js";
import { change, onChange, state, targetQuery, touches } from "./state.js";

const field = byId("target");
const EXAMPLES = ["z1*z2", "He3(z)", "tanh(2*z)", "sign(z1*z2)", "z1 + z1*z2", "He2(z1) + sign(z1*z2*z3)"];

export function startVerdict() {
  field.value = state.target;
  byId("noise").value = state.noise;
  const later = debounced(200, () => {
    if (byId("noise").checkValidity()) change({ target: field.value, noise: byId("noise").value, run: "" });
    else underline(new Error(`Noise: ${byId("noise").validationMessage}`));
  });
  field.addEventListener("input", () => { underline(null); later(); });
  field.addEventListener("scroll", () => { byId("backdrop").scrollLeft = field.scrollLeft; });
  byId("noise").addEventListener("input", later);
  byId("target-form").addEventListener("submit", (event) => event.preventDefault());
  onChange((keys) => {
    if (!touches(keys, "target", "noise")) return;
    if (field.value !== state.target) field.value = state.target;
    if (byId("noise").value !== state.noise) byId("noise").value = state.noise;
    analyze();
  });
  byId("examples").replaceChildren(...EXAMPLES.map((target) =>
    element("button", { type: "button", onclick: () => change({ target, noise: "" }) }, target)));
  fillZoo();
  return analyze();
}

async function fillZoo() {
  const menu = byId("zoo"), groups = new Map(), entries = new Map();
  for (const one of await ask("zoo", "/api/zoo")) {
    if (!groups.has(one.section)) groups.set(one.section, element("optgroup", { label: one.section }));
    entries.set(one.name, one);
    groups.get(one.section).append(element("option", { value: one.name }, `${one.name}: ${one.shows}`));
  }
  menu.append(...groups.values());
  menu.addEventListener("change", () => {
    const one = entries.get(menu.value);   // what is typed can be edited, a name cannot
    if (one) change({ target: one.typed, noise: one.noise || "", run: "" });
  });
}

async function analyze() {
  const panel = byId("panel-target");
  panel.classList.add("stale");
  if (!state.target.trim()) {
    underline(new Error("Type a target, for example z1*z2, or choose one of the zoo"));
    byId("unread").hidden = !panel.classList.contains("empty");
    if (byId("about").textContent.startsWith("Computing")) byId("about").textContent = "";
    return;
  }
  const patience = setTimeout(() => { byId("about").textContent = "Computing the verdict…"; }, 600);
  try {
    const found = await ask("analyze", "/api/analyze", targetQuery());
    panel.classList.remove("stale", "empty");
    byId("unread").hidden = true;
    show(found);
    underline(null);
    panel.setAttribute("data-target", state.target);
  } catch (error) {
    if (error.name === "AbortError") return;
    underline(error);
    byId("unread").hidden = !panel.classList.contains("empty");   // else the last verdict stays, pale
    if (byId("about").textContent.startsWith("Computing")) byId("about").textContent = "";
  } finally {
    clearTimeout(patience);
  }
}

function underline(error) {
  const place = byId("mistake"), backdrop = byId("backdrop"), text = field.value;
  place.hidden = !error;
  field.setAttribute("aria-invalid", String(Boolean(error)));
  backdrop.replaceChildren();
  if (!error) return;
  place.textContent = [error.message, error.hint].filter(Boolean).join(". ");
  if (error.column) {
    const first = error.column - 1;
    // A mistake at the end has nothing to underline but the place where something is missing.
    const wrong = text.slice(first, first + error.width) || " ";
    backdrop.append(text.slice(0, first), element("mark", {}, wrong), text.slice(first + error.width));
    backdrop.scrollLeft = field.scrollLeft;
  }
}

function show(found) {
  const noise = found.noise ? ` + \\sqrt{${found.noise}}\\,\\xi` : "";
  showFormula(byId("formula"), found.latex.replace(/,?\s*\\quad|$/, (rest) => noise + rest));
  byId("about").textContent = found.zoo ? `${found.zoo.name}: ${found.zoo.shows}` : "";
  byId("verdict").className = `verdict ${found.kind}`;
  byId("headline").replaceChildren(...scripted(found.headline));
  byId("sentences").replaceChildren(...found.sentences.map((one) => element("p", {}, ...scripted(one))));
  byId("cards").replaceChildren(...found.cards.map((card) => element("div", { class: "card" },
    element("div", { class: "name" }, card.name),
    element("div", { class: "value" }, ...scripted(card.value)),
    element("div", { class: "why" }, ...scripted(card.why)))));
  byId("stairs").replaceChildren(...found.stairs.map((one) => {
    const picture = new DOMParser().parseFromString(one.svg, "text/html").querySelector("svg");
    return element("figure", {}, element("h3", {}, one.title), document.importNode(picture, true),
      element("figcaption", {}, one.text));
  }));
  byId("facts").replaceChildren(...found.facts.map((one) => element("li", {}, one)));
  byId("facts").parentElement.hidden = !found.facts.length;
  const place = byId("energies");
  place.parentElement.hidden = !found.picture;
  if (found.picture) draw(place, found.picture, 100);
  const forms = found.picture ? ["csv", "svg", "png", "py", "html"] : ["py", "html"];
  offer(byId("target-links"), forms.map((form) => [form, "/api/files/verdict", { ...targetQuery(), form }]));
}
