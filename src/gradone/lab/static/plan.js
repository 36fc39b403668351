// The plan: what each algorithm learns from given data, the one with the largest margin first.
import { byId, debounced, element, say, scripted, tell } from "./dom.js";
import { ask, giveUp, offer } from "./server.js";
import { change, onChange, state, targetQuery, touches } from "./state.js";

const KEYS = ["d", "n", "width"];
const HEAD = ["algorithm", "data it needs", "margin", "error left", "learns here", "note"];

export function startPlan() {
  const later = debounced(250, () =>
    change(Object.fromEntries(KEYS.map((key) => [`plan_${key}`, byId(`plan-${key}`).value]))),
  );
  for (const key of KEYS) {
    byId(`plan-${key}`).value = state[`plan_${key}`];
    byId(`plan-${key}`).addEventListener("input", later);
  }
  byId("plan-form").addEventListener("submit", (event) => event.preventDefault());
  onChange((keys) => {
    if (state.tab === "plan" && touches(keys, "tab", "target", "noise", "plan_d", "plan_n", "plan_width"))
      plan();
  });
  if (state.tab === "plan") plan();
}

async function plan() {
  const place = byId("plan-state"),
    table = byId("plan-table");
  const wrong = KEYS.map((key) => byId(`plan-${key}`)).find((field) => !field.checkValidity());
  table.classList.add("stale");
  giveUp("plan theory");
  if (wrong) {
    tell(place, new Error(`${wrong.labels[0].firstChild.textContent.trim()}: ${wrong.validationMessage}`));
    return;
  }
  say(place, "Computing…");
  const query = { ...targetQuery(), d: state.plan_d, n: state.plan_n, width: state.plan_width };
  try {
    const found = await ask("plan", "/api/plan", query);
    show(found);
    table.classList.remove("stale");
    const exponent = found.data_exponent.toPrecision(3);
    const sizes = `d = ${found.d}, n = ${found.n}, width ${found.width}: log n / log d = ${exponent}`;
    say(place, sizes);
    table.setAttribute("data-plan", JSON.stringify([state.target, found.d, found.n, found.width]));
    offer(byId("plan-links"), [
      ...["csv", "py", "html"].map((form) => [form, "/api/files/plan", { ...query, form }]),
      ["json", "/api/plan", { ...query, theory: true }],
    ]);
    if (found.rows.some((row) => !row.plateau)) {
      say(place, `${sizes}. Computing errors from theory…`);
      show(await ask("plan theory", "/api/plan", { ...query, theory: true }));
      say(place, sizes);
    }
  } catch (error) {
    tell(place, error);
  }
}

function show(found) {
  const rows = found.rows.map((row) => {
    const isFinite = typeof row.margin === "number",
      isEnough = isFinite && row.margin >= 0;
    const margin = isFinite ? `${isEnough ? "+" : "−"}${Math.abs(row.margin).toFixed(2)}` : "−∞";
    const error = row.plateau ? String(Number(Number(row.plateau.value).toPrecision(4))) : "?";
    const cell = (text, kind = "") => element("td", { class: kind }, ...scripted(String(text)));
    return element(
      "tr",
      { class: isEnough && row.here && row.here !== "nothing" ? "enough" : "" },
      element("td", {}, element("b", {}, row.algorithm)),
      cell(row.needs),
      cell(margin, `number ${isEnough ? "yes" : "no"}`),
      cell(error, "number"),
      cell(row.here || "nothing"),
      cell(row.note),
    );
  });
  byId("plan-table").replaceChildren(
    element("thead", {}, element("tr", {}, ...HEAD.map((text) => element("th", { scope: "col" }, text)))),
    element("tbody", {}, ...rows),
  );
  byId("plan-bounds").replaceChildren(
    ...found.bounds.map((one) =>
      element(
        "li",
        {},
        `Lower bound (${one.name} queries, order ${one.order}): n ~ `,
        ...scripted(one.exponent === 1 ? "d" : `d^${one.exponent}`),
        ` (${one.note})`,
      ),
    ),
  );
}
