// The page: tabs, and the parts that live on them.
import { redrawAll } from "./charts.js";
import { byId } from "./dom.js";
import { startLook } from "./look.js";
import { startPlan } from "./plan.js";
import { startPredict } from "./predict.js";
import { startScenes } from "./scenes.js";
import { change, onChange, state } from "./state.js";
import { startTour } from "./tour.js";
import { startVerdict } from "./verdict.js";
import { startWatch } from "./watch.js";

const TABS = ["target", "predict", "watch", "plan", "tour"];

function showTab() {
  if (!TABS.includes(state.tab)) state.tab = "target";
  document.body.dataset.tab = state.tab;
  for (const name of TABS) {
    const tab = byId(`tab-${name}`), isChosen = name === state.tab;
    tab.setAttribute("aria-selected", String(isChosen));
    tab.tabIndex = isChosen ? 0 : -1;
    byId(`panel-${name}`).hidden = !isChosen;
  }
  redrawAll();   // pictures that were hidden had no width
}

for (const [place, name] of TABS.entries()) {
  const tab = byId(`tab-${name}`);
  tab.addEventListener("click", () => change({ tab: name }));
  tab.addEventListener("keydown", (event) => {
    const goal = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: TABS.length - 1 }[event.key];
    if (goal === undefined) return;
    event.preventDefault();
    const next = TABS[(goal + TABS.length) % TABS.length];
    change({ tab: next });
    byId(`tab-${next}`).focus();
  });
}
onChange((keys) => { if (keys.includes("tab")) showTab(); });

byId("share").addEventListener("click", async () => {
  try {
    await navigator.clipboard.writeText(location.href);
    byId("shared").textContent = "The address was copied.";
  } catch {   // not every browser lets a page write there: then the address can be marked and copied
    byId("shared").textContent = location.href;
  }
});

showTab();
startLook();
startVerdict();
startPredict();
startWatch();
startPlan();
startTour();
startScenes();
