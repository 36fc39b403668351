// Scenes for a lecture: ready states of the page, each one thing to show and to talk about.
import { byId, element } from "./dom.js";
import { ask } from "./server.js";
import { change } from "./state.js";
import { watchNow } from "./watch.js";

// What a scene does not say is as on a new page, whatever was shown before; colors and type stay.
const CLEAN = {
  noise: "", theory: "", top: "", sliders: "", predicted: "", view: "samples", algorithms: "", d: "",
  seeds: "1", seed: "0", quantity: "", shown: "", run: "", inputs: "gaussian", directions: "random",
};

export async function startScenes() {
  const menu = byId("scenes"), scenes = await ask("scenes", "/static/scenes.json");
  menu.append(...scenes.map((one, i) => element("option", { value: String(i) }, `${i + 1}. ${one.title}`)));
  menu.addEventListener("change", () => {
    const { state } = scenes[menu.value];
    menu.value = "";   // the same scene can be chosen again
    change({ ...CLEAN, ...state });
    if (state.tab === "watch") watchNow();
  });
}
