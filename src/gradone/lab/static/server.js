// Questions to the server: the newest counts, and who is told "busy" comes back when asked to.
import { byId, element } from "./dom.js";

/** Mistake that the server explains: message, and where known the column. */
export class Refused extends Error {
  constructor(body, status) {
    super(body.message || "The lab did not answer.");
    Object.assign(this, { column: body.column, width: body.width || 1, hint: body.hint || "", status });
  }
}

const asking = new Map();   // kind of a question -> what ends it
const queues = new Map();   // kind of a question -> what to say while it waits

/** Name of this tab, by which the server shares its time fairly. */
export function client() {
  let name = sessionStorage.getItem("client");
  if (!name) {
    name = [...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    sessionStorage.setItem("client", name);
  }
  return name;
}

export function address(path, parameters = {}) {
  const given = Object.entries(parameters).filter(([, value]) => value !== "" && value != null);
  const query = new URLSearchParams(given).toString();
  return query ? `${path}?${query}` : path;
}

/**
 * Answer of the server. A newer question of the same kind ends the older one; the server too keeps
 * one question of each client and path, so pages that ask side by side have names of their own.
 */
export async function ask(kind, path, parameters = {}, options = {}) {
  asking.get(kind)?.abort();
  const control = new AbortController();
  asking.set(kind, control);
  const isTour = kind.startsWith("tour");
  const who = options.method ? {} : { client: client() + (isTour ? ".tour" : "") };
  try {
    for (;;) {
      const answer = await send(address(path, { ...parameters, ...who }), { ...options, signal: control.signal });
      const body = await answer.json().catch(() => ({}));
      if (answer.ok) return body;
      const wait = Number(answer.headers.get("retry-after"));
      if (answer.status !== 503 || !wait) throw new Refused(body, answer.status);
      tellQueue(kind, body.place ? `The lab is busy: place ${body.place} in the queue.` : "The lab is busy.");
      await pause(wait * 1000, control.signal);
    }
  } finally {
    if (asking.get(kind) === control) tellQueue(kind, "");
  }
}

/** End a question that still waits. */
export const giveUp = (kind) => asking.get(kind)?.abort();

async function send(url, options) {
  try {
    return await fetch(url, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused({ message: "The lab cannot be reached. Is it still running?" }, 0);
  }
}

function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => { clearTimeout(timer); reject(signal.reason); }, { once: true });
  });
}

function tellQueue(kind, words) {
  if (words) queues.set(kind, words);
  else queues.delete(kind);
  const place = byId("busy"), last = [...queues.values()].at(-1);
  place.hidden = !last;
  place.textContent = last ? `${last} The page waits and asks again by itself.` : "";
}

const NAMES = {
  csv: "CSV", svg: "SVG", png: "PNG", gif: "GIF", py: "Python script", html: "HTML report", json: "JSON",
};

/** Links to files, one for each form: [form, path, parameters]. */
export function offer(place, files) {
  const links = files.map(([form, path, parameters]) =>
    element("a", { href: address(path, parameters), download: `gradone.${form}` }, NAMES[form]));
  place.replaceChildren(element("span", { class: "take" }, "Take it away:"), ...links);
}
