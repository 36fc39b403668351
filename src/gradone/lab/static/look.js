// How the page looks: dark colors, large type for a lecture, another target beside this one.
import { redrawAll } from "./charts.js";
import { byId } from "./dom.js";
import { change, onChange, state } from "./state.js";

const root = document.documentElement;

function show() {
  root.dataset.colors = state.colors;
  root.dataset.size = state.size;
  byId("dark").setAttribute("aria-pressed", String(state.colors === "dark"));
  byId("lecture").setAttribute("aria-pressed", String(state.size === "lecture"));
  redrawAll();
}

export function startLook() {
  byId("dark").addEventListener("click", () =>
    change({ colors: state.colors === "dark" ? "light" : "dark" }));
  byId("lecture").addEventListener("click", () => {
    const begins = state.size !== "lecture";
    change({ size: begins ? "lecture" : "desk" });
    // A browser may refuse the whole screen; large type helps without it.
    if (begins) root.requestFullscreen?.().catch(() => {});
    else if (document.fullscreenElement) document.exitFullscreen();
  });
  byId("beside").hidden = window !== window.parent;   // a half is not halved again
  byId("beside").addEventListener("click", () => {
    const here = location.search.slice(1), other = new URLSearchParams(here);
    other.set("target", "sign(z1*z2)");
    location.href = `/static/two.html?${new URLSearchParams({ left: here, right: other })}`;
  });
  document.addEventListener("fullscreenchange", () => {
    if (!document.fullscreenElement) change({ size: "desk" });
  });
  onChange((keys) => { if (keys.includes("colors") || keys.includes("size")) show(); });
  show();
}
