// Predictions: choose theories that cover the target, move what they depend on, the curves follow.
import { byId, choice, debounced, element, fill, folded, say, tell } from "./dom.js";
import { ask, offer } from "./server.js";
import { readSliders, slider, writeSliders } from "./sliders.js";
import { change, onChange, state, targetQuery, touches } from "./state.js";
import { choices, FINEST, follow } from "./theory_curves.js";

let known = [],
  shown = "",
  latest = 0;

// The end of each axis: label, least, largest, first value.
export const TOPS = {
  alpha: ["largest n/d", 0.5, 20, 4],
  batch_ratio: ["largest step, in samples / d", 0.5, 20, 4],
  time: ["longest time", 2, 200, 50],
  kappa: ["largest log n / log d", 1.2, 4, 3],
};
const GROUPS = {
  "learning alpha": "Along samples per dimension",
  "gradient batch_ratio": "Gradients of giant steps",
  "learning time": "Along time",
  "plateau kappa": "Along log n / log d",
};
const groupOf = (one) => `${one.kind} ${one.axis}`;

export function startPredict() {
  byId("predict-quantity").addEventListener("change", () =>
    change({ predicted: byId("predict-quantity").value }),
  );
  onChange((keys) => {
    if (state.tab !== "predict") return;
    if (touches(keys, "tab", "target", "noise")) load();
    else if (touches(keys, "theory")) {
      list();
      predict();
    } else if (touches(keys, "sliders", "top", "predicted")) predict();
  });
  if (state.tab === "predict") load();
}

async function load() {
  const place = byId("predict-state");
  try {
    const query = targetQuery();
    if (shown !== JSON.stringify(query)) {
      say(place, "Checking which theories cover the target…");
      known = (await ask("sources", "/api/sources", query)).theories;
      shown = JSON.stringify(query);
    }
    list();
    await predict();
  } catch (error) {
    tell(place, error);
  }
}

/** Theories that are asked for, cover the target, and stand on one picture. */
function chosen() {
  const there = known.filter((one) => !one.reason);
  const wanted = state.theory
    .split(",")
    .map((key) => there.find((one) => one.key === key))
    .filter(Boolean);
  const first = wanted[0] ?? there[0]; // message passing, where it covers the target
  if (!first) return [];
  return wanted.length ? wanted.filter((one) => groupOf(one) === groupOf(first)) : [first];
}

function toggle(one, isChosen) {
  const now = chosen();
  const others = now.filter((other) => other !== one && groupOf(other) === groupOf(one));
  const next = isChosen ? [...others, one] : others;
  if (!next.length)
    list(); // the last one stays
  else if (groupOf(now[0]) === groupOf(one)) change({ theory: next.map((other) => other.key).join(",") });
  else change({ theory: one.key, top: "" });
}

function list() {
  const now = chosen(),
    there = known.filter((one) => !one.reason);
  const rows = [];
  for (const [group, words] of Object.entries(GROUPS)) {
    const own = there.filter((one) => groupOf(one) === group);
    if (own.length) rows.push(element("p", { class: "group" }, words));
    rows.push(
      ...own.flatMap((one) =>
        choice({
          type: "checkbox",
          name: "theory",
          value: one.key,
          label: one.label,
          color: one.color,
          isThere: true,
          isChosen: now.includes(one),
          onchange: (event) => toggle(one, event.target.checked),
        }),
      ),
    );
  }
  const others = known.filter((one) => one.reason);
  rows.push(
    ...folded("Not for this target, and why", others, (one) =>
      choice({
        type: "checkbox",
        name: "theory",
        value: one.key,
        label: one.label,
        color: one.color,
        isThere: false,
        isChosen: false,
        reason: one.reason,
      }),
    ),
  );
  const focused = document.activeElement?.name === "theory" ? document.activeElement.value : null;
  byId("theories").replaceChildren(...rows);
  if (focused) byId("theories").querySelector(`input[value="${focused}"]`)?.focus();
  listSliders(now);
}

function listSliders(now) {
  if (!now.length) {
    byId("sliders").replaceChildren();
    return;
  }
  const [label, low, high] = TOPS[now[0].axis],
    values = readSliders(state.sliders);
  const top = { name: "top", label, low, high, value: topOf(now[0].axis) };
  const noise = {
    name: "noise",
    label: "label noise (variance)",
    low: 0,
    high: 1,
    value: Math.min(1, Number(state.noise) || 0),
    linear: true,
  };
  const own = now.flatMap((theory) => [
    ...(now.length > 1 && theory.sliders.length ? [element("p", { class: "group" }, theory.label)] : []),
    ...theory.sliders.map((one) => {
      const name = `${theory.key}.${one.name}`;
      const moved = debounced(120, (value) =>
        change({ sliders: writeSliders({ ...readSliders(state.sliders), [name]: value }) }),
      );
      return slider({ ...one, name, value: values[name] ?? one.value }, moved);
    }),
  ]);
  byId("sliders").replaceChildren(
    slider(
      top,
      debounced(120, (value) => change({ top: value })),
    ),
    slider(
      noise,
      debounced(120, (value) => change({ noise: Number(value) ? value : "" })),
    ),
    ...own,
  );
}

function topOf(axis) {
  const [, low, high, first] = TOPS[axis];
  return Math.min(high, Math.max(low, Number(state.top) || first));
}

async function predict() {
  const now = chosen(),
    place = byId("predict-state"),
    plot = byId("predict-plot"),
    turn = ++latest;
  plot.hidden = byId("predict-links").hidden = byId("predict-quantity").parentElement.hidden = !now.length;
  if (!now.length) {
    say(place, "No theory on this page covers the target. The reason is given beside each one.");
    return;
  }
  const { axis, kind } = now[0],
    top = topOf(axis),
    keys = now.map((one) => one.key).join(",");
  fill(byId("predict-quantity"), choices(kind, axis), state.predicted);
  const quantity = byId("predict-quantity").value,
    values = readSliders(state.sliders);
  const own = Object.fromEntries(
    Object.entries(values).filter(([name]) => now.some((one) => name.startsWith(`${one.key}.`))),
  );
  const query = (points) => ({
    ...targetQuery(),
    theory: keys,
    top,
    points,
    sliders: writeSliders(own),
    quantity: quantity === "both" ? "" : quantity,
  });
  const take = (points) =>
    offer(
      byId("predict-links"),
      ["csv", "svg", "png", "py", "html"].map((form) => [form, "/api/predict", { ...query(points), form }]),
    );
  take(FINEST);
  say(place, "Computing…");
  plot.classList.add("stale");
  plot.removeAttribute("data-theory");
  try {
    const { notes, points } = await follow({
      kind: "predict",
      target: targetQuery(),
      theories: now,
      sliders: own,
      top,
      plot,
      quantity,
      told: (isMore) => {
        plot.classList.remove("stale");
        if (isMore) say(place, "Computing more points…");
      },
    });
    if (turn !== latest) return;
    take(points);
    byId("predict-notes").replaceChildren(...notes.map((one) => element("li", {}, one)));
    plot.setAttribute("data-theory", keys);
    say(
      place,
      kind === "gradient"
        ? "The curves show how much of each giant gradient lies along the hidden directions."
        : axis === "time"
          ? "The curves show the flow of the order parameters of SGD, which is its limit of large dimension."
          : "The curves show the limit of large dimension.",
    );
  } catch (error) {
    if (turn === latest) tell(place, error);
  }
}
