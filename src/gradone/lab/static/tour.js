// Six pages that tell the story of the field, each with a live example.
import { byId, debounced, element, say, scripted, showFormula, tell } from "./dom.js";
import { ask } from "./server.js";
import { slider, writeSliders } from "./sliders.js";
import { change, onChange, state, touches } from "./state.js";
import { choices, follow } from "./theory_curves.js";
import { PAGES as TEXTS } from "./tour_pages.js";
import { watchNow } from "./watch.js";

let latest = 0,
  PAGES = TEXTS;

/** The pages, with the targets and theories of their examples. */
async function pages() {
  if (PAGES === TEXTS) {
    const examples = await ask("tour examples", "/static/tour.json");
    PAGES = TEXTS.map((text, i) => ({ ...text, ...examples[i] }));
  }
  return PAGES;
}

export function startTour() {
  onChange((keys) => {
    if (state.tab === "tour" && touches(keys, "page", "tab")) show();
  });
  if (state.tab === "tour") show();
}

async function show() {
  const turn = ++latest;
  const number = Math.min(TEXTS.length, Math.max(1, Math.round(Number(state.page)) || 1)),
    page = (await pages())[number - 1];
  if (turn !== latest) return;
  const place = byId("tour-state");
  steps(number);
  byId("tour-title").textContent = `${number}. ${page.title}`;
  byId("tour-text").replaceChildren(...page.text.map((one) => element("p", {}, ...scripted(one))));
  byId("tour-papers").textContent = page.papers;
  buttons(number, page);
  claims(page, turn);
  byId("tour-formula").replaceChildren();
  const moved = { ...page.sliders };
  const about = ask("tour analyze", "/api/analyze", { target: page.target });
  byId("tour-sliders").replaceChildren(
    ...(page.slider
      ? [
          slider(
            { ...page.slider, value: moved[page.slider.name] },
            debounced(120, (value) => {
              moved[page.slider.name] = value;
              example(number, page, moved, turn, about);
            }),
          ),
        ]
      : []),
  );
  byId("tour-plot").classList.add("stale");
  say(place, "Computing the example…");
  try {
    await Promise.all([example(number, page, moved, turn, about), formula(about, turn)]);
  } catch (error) {
    if (turn === latest) tell(place, error);
  }
}

async function formula(about, turn) {
  const { latex } = await about;
  if (turn === latest) showFormula(byId("tour-formula"), latex);
}

async function example(number, page, sliders, turn, about) {
  const plot = byId("tour-plot"),
    place = byId("tour-state");
  try {
    const covered = (await ask("tour sources", "/api/sources", { target: page.target })).theories;
    const theories = page.theories.map((key) => covered.find((one) => one.key === key));
    const quantity = page.quantity ?? Object.keys(choices(theories[0].kind, theories[0].axis))[0];
    plot.removeAttribute("data-page");
    await follow({
      kind: "tour predict",
      target: { target: page.target },
      theories,
      sliders,
      top: page.top,
      plot,
      quantity,
      // The page opens with curves that the lab was delivered with.
      isKnown: Object.entries(sliders).every(([name, value]) => page.sliders[name] === value),
      told: (isMore) => {
        plot.classList.remove("stale");
        if (isMore) say(place, "Computing more points…");
      },
    });
    if (turn !== latest) return;
    plot.setAttribute("data-page", number);
    say(place, (await about).headline);
  } catch (error) {
    if (turn === latest) tell(place, error);
  }
}

/** What the papers of the page claim, and whether it holds here: the atlas. */
async function claims(page, turn) {
  const place = byId("tour-claims");
  place.replaceChildren();
  const found = (await ask("tour claims", "/api/atlas")).filter((one) => one.family === page.family);
  if (turn !== latest) return;
  place.replaceChildren(
    element("summary", {}, `${found.length} claims of the papers, each checked by numbers`),
    element("ul", {}, ...found.map((one) => element("li", {}, `${one.statement} (${one.kind}: ${one.verdict})`))),
  );
}

function steps(number) {
  byId("tour-steps").replaceChildren(
    ...PAGES.map((one, i) => {
      const step = element("button", { type: "button", onclick: () => go(i + 1) }, `${i + 1}. ${one.title}`);
      if (i === number - 1) step.setAttribute("aria-current", "step");
      return element("li", {}, step);
    }),
  );
}

/** Another page, with the focus on its title: who uses keys reads on from there. */
function go(number) {
  change({ page: number });
  byId("tour-title").focus();
}

function buttons(number, page) {
  const { target } = page,
    clean = { target, noise: "", run: "" };
  const button = (words, onclick, kind = "") =>
    element("button", { type: "button", class: kind, onclick }, words);
  byId("tour-buttons").replaceChildren(
    ...(number < PAGES.length ? [button("Next page", () => go(number + 1), "main")] : []),
    button("Watch it learn", () => {
      change({ ...clean, tab: "watch", view: "samples", d: "", seeds: 1, seed: 0, ...page.watch });
      watchNow();
    }),
    button("Move the sliders", () =>
      change({
        ...clean,
        tab: "predict",
        theory: page.theories.join(","),
        top: page.top,
        sliders: writeSliders(page.sliders),
        predicted: page.quantity ?? "",
      }),
    ),
    button("Read its verdict", () => change({ ...clean, tab: "target" })),
  );
}
