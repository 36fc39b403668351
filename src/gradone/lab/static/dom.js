// Small helpers: elements, text with raised exponents, words about what goes on.

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

/** Formulas by KaTeX, each on its line; their source as text if KaTeX cannot read it. */
export function showFormula(place, latex) {
  const lines = latex.split(/,?\s*\\quad\s*/).map((one) => {
    const line = element("div");
    window.katex.render(one, line, { displayMode: true, throwOnError: false, trust: false, fleqn: true });
    return line;
  });
  place.replaceChildren(...lines);
}

/** Text in which ^2 is raised and C_1 lowered. */
export function scripted(text) {
  const parts = text.split(/(?<=[\w|)])\^(\d+(?:\.\d+)?|\w+)|(?<=\b(?:C|He|h|P|d))_(\d+)\b/);
  return parts.flatMap((part, i) => {
    if (!part) return [];
    return [i % 3 ? element(i % 3 === 1 ? "sup" : "sub", {}, part) : part];
  });
}

export function say(place, text) {
  place.textContent = text;
  place.classList.remove("bad");
}

/** Say what went wrong; requests that were replaced by newer ones are no mistake. */
export function tell(place, error) {
  if (error.name === "AbortError") return;
  place.textContent = [error.message, error.hint].filter(Boolean).join(" ");
  place.classList.add("bad");
}

/** Options of a menu, one of them chosen. */
export function fill(menu, options, chosen) {
  menu.replaceChildren(...Object.entries(options).map(([value, text]) => element("option", { value }, text)));
  menu.value = chosen in options ? chosen : Object.keys(options)[0] ?? "";
}

/** Choice with a colored dot; what cannot be chosen says why. */
export function choice({ type, name, value, label, color, reason, isThere, isChosen, onchange }) {
  const box = element("input", { type, name, value, disabled: !isThere, onchange });
  box.checked = isThere && isChosen;
  const shown = color === "#000000" ? "var(--ink)" : color;   // black would vanish on a dark page
  const dot = element("span", { class: "dot", style: `background:${shown}`, "aria-hidden": "true" });
  const row = [element("label", { class: isThere ? "choice" : "choice off" }, box, dot, element("span", {}, label))];
  if (reason) row.push(element("span", { class: "why-not" }, reason));
  return row;
}

/** Choices that are seen when somebody asks for them: the others fit on a phone. */
export function folded(title, rows, row) {
  if (!rows.length) return [];
  return [element("details", {}, element("summary", {}, `${title} (${rows.length})`), ...rows.flatMap(row))];
}

export function debounced(wait, action) {
  let timer;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...given), wait);
  };
}
