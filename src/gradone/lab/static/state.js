// The state of the page is its address: what is equal to the default is left out.

const DEFAULTS = {
  tab: "target", target: "He2(z1) + sign(z1*z2*z3)", noise: "",
  theory: "", top: "", sliders: "", predicted: "",
  view: "samples", algorithms: "", d: "", seeds: "1", seed: "0", quantity: "", shown: "", run: "",
  inputs: "gaussian", directions: "random",
  plan_d: "1000", plan_n: "5000", plan_width: "1000", page: "1",
  colors: "light", size: "desk",
};

const given = new URLSearchParams(location.search);
export const state = Object.fromEntries(
  Object.entries(DEFAULTS).map(([key, value]) => [key, given.get(key) ?? value]));

const listeners = [];
export const onChange = (action) => listeners.push(action);

/** Change the state; those who listen are told which keys have changed. */
export function change(values) {
  const changed = Object.keys(values).filter((key) => state[key] !== String(values[key]));
  for (const key of changed) state[key] = String(values[key]);
  const kept = Object.entries(state).filter(([key, value]) => value !== DEFAULTS[key]);
  const query = new URLSearchParams(kept).toString();
  const way = changed.includes("tab") ? "pushState" : "replaceState";   // back goes to the last tab
  history[way](null, "", query ? `?${query}` : location.pathname);
  if (changed.length) for (const action of listeners) action(changed);
}

window.addEventListener("popstate", () => {
  const there = new URLSearchParams(location.search);
  const changed = Object.keys(DEFAULTS).filter((key) => state[key] !== (there.get(key) ?? DEFAULTS[key]));
  for (const key of changed) state[key] = there.get(key) ?? DEFAULTS[key];
  if (changed.length) for (const action of listeners) action(changed);
});

/** Whether one of the keys is among those that have changed. */
export const touches = (changed, ...keys) => keys.some((key) => changed.includes(key));

export const targetQuery = () => ({ target: state.target, noise: state.noise });
