// The plan: what each algorithm learns from given data, the one with the largest margin first.
import { ask, byId, debounced, element, link, say, scripted, tell } from "./dom.js";
import { change, onChange, state, targetQuery } from "./state.js";

const KEYS = ["d", "n", "width"];

export function startPlan() {
  const later = debounced(250, () => change(Object.fromEntries(KEYS.map((key) => [`plan_${key}`, byId(`plan-${key}`).value]))));
  for (const key of KEYS) {
    byId(`plan-${key}`).value = state[`plan_${key}`];
    byId(`plan-${key}`).addEventListener("input", later);
  }
  byId("plan-form").addEventListener("submit", (event) => event.preventDefault());
  onChange((keys) => {
    if (state.tab === "plan" && ["tab", "target", "noise", "plan_d", "plan_n", "plan_width"].some((key) => keys.includes(key))) plan();
  });
  if (state.tab === "plan") plan();
}

async function plan() {
  const place = byId("plan-state");
  say(place, "computing…");
  const query = { ...targetQuery(), d: state.plan_d, n: state.plan_n, width: state.plan_width };
  try {
    const found = await ask("plan", "/api/plan", query);
    show(found);
    say(place, `log n / log d = ${found.data_exponent.toPrecision(3)}`);
    byId("plan-links").replaceChildren(link("JSON", "/api/plan", query));
  } catch (error) {
    tell(place, error);
  }
}

const HEAD = ["algorithm", "data it needs", "margin", "error left", "learns here", "note"];

function show(found) {
  const rows = found.rows.map((row) => {
    const isFinite = typeof row.margin === "number", isEnough = isFinite && row.margin >= 0;
    const margin = isFinite ? `${isEnough ? "+" : "−"}${Math.abs(row.margin).toFixed(2)}` : "−∞";
    const error = row.plateau ? String(Number(Number(row.plateau.value).toPrecision(4))) : "?";
    const cell = (text, kind = "") => element("td", { class: kind }, ...scripted(String(text)));
    return element("tr", {}, element("td", {}, element("b", {}, row.algorithm)), cell(row.needs),
      cell(margin, `number ${isEnough ? "yes" : "no"}`), cell(error, "number"), cell(row.here || "nothing"), cell(row.note));
  });
  byId("plan-table").replaceChildren(
    element("thead", {}, element("tr", {}, ...HEAD.map((text) => element("th", { scope: "col" }, text)))),
    element("tbody", {}, ...rows));
}
