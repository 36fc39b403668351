// Neurons in the plane of the target: where they are at a moment of the training, and their way.
import { markMoment } from "./charts.js";
import { byId, fill } from "./dom.js";

const SIZE = 360,
  EDGE = 30,
  SECONDS = 9;
let paths = [],
  span = [0, 1],
  moment = 1,
  playing = 0,
  seen = "",
  run = "";

byId("play").addEventListener("click", () => (playing ? pause() : play(moment >= 1 ? 0 : moment)));
byId("moment").addEventListener("input", () => {
  pause();
  moment = Number(byId("moment").value);
  movePlane();
});
for (const id of ["plane-x", "plane-y"])
  byId(id).addEventListener("change", () => {
    layOut();
    movePlane();
  });

/** Take the neurons of a run; false if it has none. The first ones to come start to move. */
export function showPlane(events, asked) {
  const found = events.filter((one) => one.neurons);
  byId("plane").hidden = !found.length;
  if (!found.length) return false;
  const directions = found[0].neurons.overlap[0][0].length,
    key = `${found[0].source} ${found.length} ${asked.target}`;
  const names = {
    ...Object.fromEntries(Array.from({ length: directions }, (_, k) => [`z${k + 1}`, `z${k + 1}`])),
    outside: "outside",
  };
  if (run !== asked) {
    run = asked;
    fill(byId("plane-x"), names, "z1");
    fill(byId("plane-y"), names, directions > 1 ? "z2" : "outside");
  }
  if (seen !== key) {
    const isFirst = !seen;
    seen = key;
    const times = found.flatMap((one) => one.neurons.time);
    span = [Math.log(Math.min(...times)), Math.log(Math.max(...times))];
    paths = found.flatMap((one) =>
      one.neurons.overlap.map((_, neuron) => ({
        event: one,
        neuron,
        isTheory: one.source.startsWith("theory:"),
      })),
    );
    layOut();
    if (isFirst && !matchMedia("(prefers-reduced-motion: reduce)").matches) play(0);
  }
  return true;
}

export function stopPlane() {
  pause();
  [paths, seen, run, moment] = [[], "", "", 1];
}

function play(from) {
  const began = performance.now() - from * SECONDS * 1000;
  const step = (now) => {
    moment = Math.min(1, (now - began) / SECONDS / 1000);
    movePlane();
    if (moment < 1) playing = requestAnimationFrame(step);
    else pause();
  };
  pause();
  playing = requestAnimationFrame(step);
  byId("play").textContent = "❚❚";
  byId("play").setAttribute("aria-label", "Pause the training");
}

function pause() {
  cancelAnimationFrame(playing);
  playing = 0;
  byId("play").textContent = "▶";
  byId("play").setAttribute("aria-label", "Play the training");
}

const shape = (name, attributes) => {
  const found = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) found.setAttribute(key, value);
  return found;
};

/** Points (across, up) of a neuron at all times, in the coordinates that are chosen. */
function coordinates({ event, neuron }) {
  const { overlap, outside } = event.neurons;
  const pick = (name) =>
    name === "outside" ? outside[neuron] : overlap[neuron].map((row) => row[Number(name.slice(1)) - 1]);
  const [x, y] = [pick(byId("plane-x").value), pick(byId("plane-y").value)];
  return x.map((value, i) => [value ?? 0, y[i] ?? 0]);
}

/** Circle, axes, and one line and one disc for each neuron; they are moved afterwards. */
function layOut() {
  const points = paths.map(coordinates);
  const reach = Math.max(1.08, ...points.flat(2).map(Math.abs)) * 1.04;
  const put = (value) => SIZE / 2 + (value / reach) * (SIZE / 2 - EDGE);
  const picture = shape("svg", {
    viewBox: `0 0 ${SIZE} ${SIZE}`,
    role: "img",
    "aria-label": "Neurons in the plane of the target",
  });
  picture.append(
    shape("circle", { cx: SIZE / 2, cy: SIZE / 2, r: put(1) - put(0), class: "unit" }),
    shape("line", { x1: EDGE / 2, x2: SIZE - EDGE / 2, y1: SIZE / 2, y2: SIZE / 2, class: "axis" }),
    shape("line", { y1: EDGE / 2, y2: SIZE - EDGE / 2, x1: SIZE / 2, x2: SIZE / 2, class: "axis" }),
    label(byId("plane-x").value, SIZE - 6, SIZE / 2 - 8, "end"),
    label(byId("plane-y").value, SIZE / 2 + 8, 16, "start"),
    label("length 1", put(0.72), put(0.76) + 12, "start", "unit-text"),
  );
  for (const [i, path] of paths.entries()) {
    path.points = points[i].map(([x, y]) => [put(x), SIZE - put(y)]);
    const { color } = path.event;
    path.trail = shape("polyline", { class: path.isTheory ? "trail theory" : "trail", stroke: color });
    picture.append(path.trail);
    if (path.isTheory) continue;
    path.disc = shape("circle", { r: 7, fill: color, class: "neuron" });
    picture.append(
      shape("circle", { cx: path.points[0][0], cy: path.points[0][1], r: 3, class: "start" }),
      path.disc,
    );
  }
  byId("plane-picture").replaceChildren(picture);
}

function label(name, x, y, anchor, kind = "name") {
  const found = shape("text", { x, y, "text-anchor": anchor, class: kind });
  found.textContent = { outside: "outside" }[name] ?? name;
  return found;
}

/** Put the neurons where they are at the moment, between the times that were looked at. */
export function movePlane() {
  const time = Math.exp(span[0] + moment * (span[1] - span[0]));
  for (const path of paths) {
    const times = path.event.neurons.time;
    let next = times.findIndex((one) => one > time);
    if (next < 0) next = times.length;
    const way = path.points.slice(0, Math.max(next, 1));
    if (next > 0 && next < times.length) {
      const share =
        (Math.log(time) - Math.log(times[next - 1])) / (Math.log(times[next]) - Math.log(times[next - 1]));
      way.push(
        path.points[next].map(
          (value, i) => path.points[next - 1][i] + share * (value - path.points[next - 1][i]),
        ),
      );
    }
    path.trail.setAttribute("points", way.map((point) => point.map((v) => v.toFixed(1)).join(",")).join(" "));
    const [x, y] = way.at(-1);
    path.disc?.setAttribute("cx", x.toFixed(2));
    path.disc?.setAttribute("cy", y.toFixed(2));
  }
  byId("moment").value = moment;
  const text = `t = ${Number(time.toPrecision(2))}`;
  byId("moment-text").textContent = text;
  byId("moment").setAttribute("aria-valuetext", text);
  markMoment(byId("watch-plot"), time);
}
