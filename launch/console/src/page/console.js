// Page of the console: connects the link, the view, the pointer, the strips and the controls.

import { Controls } from "./controls.js";
import { StiffnessMap, color } from "./stiffness_map.js";
import { Link } from "./link.js";
import { Pointer } from "./pointer.js";
import { Practice } from "./practice.js";
import { Recording } from "./recording.js";
import { Scene } from "./scene.js";
import { Strips } from "./strips.js";
import { Trial } from "./trial.js";
import { Viewer } from "./viewer.js";

const at = (id) => document.getElementById(id);
const NUMBERS_MS = 200;

const scene = new Scene(at("scene"));
const viewer = new Viewer(scene);
const stiffnessMap = new StiffnessMap(scene);
const strips = new Strips(at("strips"), scene);
const seen = { state: null, frames: 0, surfaces: 0, pictures: 0, work_ms: 0, echo_ms: null, echoes: [], said_ms: NaN };
const pointer = new Pointer(scene, at("scene"), (aim) => link.aim(aim));

const link = new Link({
  opened: () => controls.connection("live", "good"),
  closed: (reason, over) => {
    if (over) controls.ending(true);
    else controls.connection("reconnecting", "bad");
    if (reason) controls.say(reason, over ? "quiet" : "bad");
    pointer.release();
  },
  hello: (hello) => {
    version = hello.version;
    session(hello.session);
    if (hello.session?.for === "recording") {
      seen.recording ??= new Recording({ link, scene, stiffnessMap, controls });
      seen.recording.hello(hello);
    }
  },
  facts: (word) => session(word.session),
  role: (role) => controls.role(role),
  refused: ({ text }) => controls.say(text, "bad"),
  overview: (word) => seen.recording?.overview(word),
  moment: (word) => seen.recording?.moment(word),
  mesh: (frame) => {
    if (frame.place) return seen.recording?.mesh(frame);
    scene.mesh(frame);
    stiffnessMap.clear();
    practice.marks.show(practice.now?.task);
  },
  surface: (frame) => {
    if (frame.place) return seen.recording?.surface(frame);
    seen.surfaces++;
    scene.surface(frame);
  },
  state: (frame) => {
    seen.recording?.state(frame);
    if (frame.place) return;
    seen.frames++;
    seen.state = frame;
    pointer.tool_m = frame.master.position_m;
    stiffnessMap.take(frame);
    if (!seen.recording) strips.take(frame);
  },
});
const controls = new Controls(link, pointer);
const trial = new Trial(link, pointer);
const practice = new Practice({
  scene, stiffnessMap, pointer, ask: (order) => controls.ask(order), place: () => seen.state?.master.position_m.slice(0, 2),
});
let version = "";

/** Shows this session from now on. */
function session(facts) {
  document.body.dataset.for = facts?.for ?? "session";
  controls.hello({ session: facts, version });
  const { tool, second } = facts?.rehearsal ?? {};
  if (facts?.tool_radius_m) scene.changeTool({ radius_m: facts.tool_radius_m, edges_m: facts.tool_edges_m, kind: tool, other: second?.tool });
  practice.facts(facts);
  trial.told(facts?.trial ?? null);
  strips.resize();
}


function theme(name) {
  document.documentElement.dataset.theme = name;
  scene.background(getComputedStyle(document.documentElement).getPropertyValue("--view").trim());
  if (seen.state && !seen.recording) strips.build();
}

at("theme").addEventListener("click", () => theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
theme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
at("paint").addEventListener("change", ({ target }) => {
  stiffnessMap.kind = target.value;
  stiffnessMap.stale = true;
});
at("clear").addEventListener("click", () => stiffnessMap.clear());
at("reset").addEventListener("click", () => scene.reset());
const scale = at("scale").getContext("2d");
for (let x = 0; x < 160; x++) {
  scale.fillStyle = `rgb(${color(x / 160).map((part) => Math.round(255 * part)).join(" ")})`;
  scale.fillRect(x, 0, 1, 10);
}

let [painted, numbered, counted, pictures, drawn_ms] = [0, 0, 0, 0, 0];

/** Draws one frame of the screen. */
function picture(now_ms) {
  requestAnimationFrame(picture);
  const begun_ms = performance.now();
  const frame = seen.state;
  const force_n = frame ? Math.hypot(...frame.master.port_force_n.slice(0, 3)) : 0;
  pointer.pad(force_n);
  if (frame && frame !== seen.drawn) {
    seen.drawn = frame;
    scene.state(frame, Boolean(controls.facts?.pointer));
    controls.halt(frame.master);
    letGo(now_ms, frame);
    write("force", force_n.toFixed(2));
    const parked_n = Math.hypot(...frame.master.parked_n.slice(0, 3));
    at("parked").hidden = !scene.parked.group.visible;
    write("parked-force", parked_n.toFixed(2));
    const depth_m = (scene.top_m ?? NaN) + scene.radius_m - frame.master.position_m[2];
    write("depth", Number.isFinite(depth_m) ? Math.abs(1e3 * depth_m).toFixed(1) : "–");
    write("depth-way", depth_m < 0 ? "above the tissue" : "indentation depth");
    const [x_mm, y_mm] = frame.master.position_m.map((m) => Math.round(1e3 * m));
    write("place", `x ${x_mm}, y ${y_mm} mm`);
  }
  if (now_ms - painted > 60) {
    painted = now_ms;
    legend(stiffnessMap.paint());
  }
  if (scene.draw()) pictures++;
  scene.afford(now_ms - drawn_ms);
  drawn_ms = now_ms;
  if (frame) echo(frame);
  strips.draw(now_ms, scene.slow_ms);
  seen.recording?.draw(now_ms);
  if (frame && now_ms - numbered > NUMBERS_MS) {
    numbered = now_ms;
    if (seen.recording) seen.recording.numbers();
    else controls.state(frame, seen);
    practice.left(frame.master.tick);
  }
  link.work_ms += performance.now() - begun_ms;
  if (now_ms - counted <= 1000) return;
  [seen.pictures, seen.work_ms] = [pictures, link.work_ms / Math.max(1, pictures)];
  [pictures, link.work_ms, counted] = [0, 0, now_ms];
}

/** Writes changed texts only, to avoid a new layout. */
function write(id, text) {
  if (at(id).textContent !== text) at(id).textContent = text;
}

/** Releases a handle that the session has not counted as held for a while. */
function letGo(now_ms, { master }) {
  if (!pointer.held || master.state === 1) seen.held_ms = now_ms;
  else if (now_ms - seen.held_ms > 800) {
    pointer.release();
    controls.say("the handle was released: take it again", "bad");
  }
}

function legend(words) {
  if (at("legend").hidden !== !words) at("legend").hidden = !words;
  if (!words) return;
  write("scale-low", words.low);
  write("scale-high", words.high);
  write("scale-name", words.name);
}

/** Latency from a pointer message to the frame that shows its effect: the median of the last ones. */
function echo({ master }) {
  if (!Number.isFinite(master.said_ms) || master.said_ms === seen.said_ms) return;
  seen.said_ms = master.said_ms;
  seen.echoes.push(performance.now() - master.said_ms);
  if (seen.echoes.length > 60) seen.echoes.shift();
  seen.echo_ms = [...seen.echoes].sort((a, b) => a - b)[seen.echoes.length >> 1];
}

requestAnimationFrame(picture);
// for programs that control this page
window.palpate = { seen, scene, viewer, stiffnessMap, pointer, link, practice, trial };
