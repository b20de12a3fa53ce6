// Recordings: the transport bar, the second view, the list, and the comparison of two recordings.

import * as THREE from "./vendor/three.module.min.js";
import { Pointer } from "./pointer.js";
import { Scene } from "./scene.js";
import { Timeline } from "./timeline.js";
import { Tracks } from "./tracks.js";
import { Viewer } from "./viewer.js";

const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4];
const TOUCH_N = 0.1;
const UNKNOWN = 0.25;

/** Name, unit, digits and path in a summary. */
const SUMMARY = [
  ["largest force", "N", 2, "contact.peak_force_n"], ["force error", "N", 3, "contact.force_rmse_n"],
  ["displayed stiffness", "N/m", 0, "contact.displayed_stiffness_npm"], ["true stiffness", "N/m", 0, "contact.true_stiffness_npm"],
  ["position error", "mm", 2, "tracking.position_rmse_mm"], ["round trip", "ms", 1, "link.rtt_ms_p50"],
  ["frame loss", "%", 2, "link.loss", 100], ["least energy", "mJ", 3, "passivity.min_channel_energy_j", 1e3],
  ["violations", "", 0, "passivity.violations"], ["late ticks", "", 0, "servo.late_ticks"],
];

const at = (id) => document.getElementById(id);

/** Creates an element of a kind, with properties and children. */
function make(kind, properties = {}, ...children) {
  const made = document.createElement(kind);
  const { dataset, ...rest } = properties;
  Object.assign(made, rest);
  Object.assign(made.dataset, dataset);
  made.append(...children);
  return made;
}

export class Recording {
  constructor({ link, scene, stiffnessMap, controls }) {
    Object.assign(this, { link, scene, stiffnessMap, controls });
    this.open = [null, null];
    this.tables = [null, null];
    this.frames = [null, null];
    this.now = null;
    this.wanted = null;
    document.body.dataset.for = "recording";
    document.body.dataset.pointer = "false";
    at("depth-slider").hidden = at("hint").hidden = true;
    at("end").textContent = "Close";
    at("ending-words").textContent = "Close the recordings?";
    at("end-now").textContent = "Close";
    at("numbers").closest("fieldset").firstElementChild.textContent = "Present tick";
    // a stiffness map depends on the playback so far; the indentation depth does not
    at("paint").value = stiffnessMap.kind = "depth";
    this.views();
    this.bar();
    this.panels();
    this.timeline = new Timeline(at("timeline"), (at_s) => this.seek(at_s), at("mark-word"));
    this.tracks = new Tracks(at("strips"));
    addEventListener("keydown", (event) => this.key(event));
  }

  /** Shows the connection, for the first time or again. */
  hello({ version }) {
    at("session").textContent = `recordings · ${version}`;
    this.controls.connection("recording", "good");
  }

  /** Adds a second view with a scene of its own, whose camera follows the first. */
  views() {
    const canvas = make("canvas", { id: "scene-beside", tabIndex: 0 });
    canvas.setAttribute("aria-label", "Tissue, tool and robot of the second recording. Arrow keys turn the view.");
    const view = make("section", { id: "view-beside" }, canvas, make("p", { className: "of", id: "of-1" }));
    at("view").after(view);
    at("view").append(make("p", { className: "of", id: "of-0" }));
    this.beside = new Scene(canvas);
    new Viewer(this.beside);
    this.scenes = [this.scene, this.beside];
    this.turner = new Pointer(this.beside, canvas, () => {});
    this.grids = this.scenes.map((scene) => {
      const grid = new THREE.GridHelper(0.1, 10, 0x8894a3, 0x8894a3);
      grid.rotation.x = Math.PI / 2;
      scene.scene.add(grid);
      return grid;
    });
    // position of the tool without contact compliance
    this.proxies = this.scenes.map((scene) => {
      const look = new THREE.MeshBasicMaterial({ color: 0xffffff, wireframe: true, transparent: true, opacity: 0.3, depthTest: false });
      const proxy = new THREE.Mesh(new THREE.SphereGeometry(1, 10, 6), look);
      proxy.renderOrder = 8;
      proxy.visible = false;
      scene.scene.add(proxy);
      return proxy;
    });
    at("reset").addEventListener("click", () => this.beside.reset());
    at("theme").addEventListener("click", () => this.theme());
    this.theme();
  }

  theme() {
    this.beside.background(getComputedStyle(document.documentElement).getPropertyValue("--view").trim());
    this.tracks?.build();
    this.timeline?.paint();
  }

  bar() {
    const button = (id, text, title, act) => {
      const made = make("button", { id, textContent: text, title });
      made.addEventListener("click", act);
      return made;
    };
    const speed = make("input", { id: "speed", type: "range", min: 0, max: SPEEDS.length - 1, step: 1, value: 3 });
    speed.setAttribute("aria-label", "Speed");
    speed.addEventListener("input", () => this.ask({ speed: SPEEDS[speed.value] }));
    const span = make("select", { id: "span" }, ...[5, 15, 60, 0].map((s) => new Option(s ? `${s} s` : "all", s)));
    span.value = 15;
    span.setAttribute("aria-label", "Length of the strips");
    span.addEventListener("change", () => (this.tracks.span_s = Number(span.value)));
    const timeline = make("canvas", { id: "timeline", tabIndex: 0 });
    timeline.setAttribute("role", "slider");
    timeline.setAttribute("aria-label", "Time; the left and right arrow keys move by 0.1 s, with Shift by 1 s");
    const bar = make("section", { id: "transport" },
      make("div", { className: "row" },
        button("begin", "|◂", "To the start (Home)", () => this.seek(this.now?.from_s ?? 0)),
        button("play", "▶", "Play or pause (Space)", () => this.toggle()),
        button("before", "◂ mark", "Previous mark (P)", () => this.mark(-1)),
        button("after", "mark ▸", "Next mark (N)", () => this.mark(1)),
        make("output", { id: "clock" }, "–"),
        make("label", { className: "of-bar" }, "Speed ", speed, make("output", { id: "speed-value" }, "1 ×")),
        make("label", { className: "of-bar" }, "Strips ", span),
        make("span", { id: "mark-word", className: "quiet" })),
      timeline);
    bar.setAttribute("aria-label", "Time");
    at("strips").before(bar);
  }

  panels() {
    const offset = make("input", { id: "offset", type: "number", step: 0.01, value: 0 });
    offset.addEventListener("change", () => this.ask({ offset: Number(offset.value) }));
    const align = make("button", { id: "align", textContent: "Align first contact", title: "Align the first contact of both recordings" });
    align.addEventListener("click", () => this.align());
    const close = make("button", { id: "close-beside", textContent: "Close" });
    close.addEventListener("click", () => this.ask("close"));
    const side = make("select", { id: "side" }, new Option("hand", "hand"), new Option("robot", "robot"));
    side.addEventListener("change", () => this.plot());
    const refresh = make("button", { id: "refresh", textContent: "Refresh" });
    refresh.addEventListener("click", () => this.ask("list"));
    const field = (id, title, ...children) => make("fieldset", { id, hidden: true }, make("legend", {}, title), ...children);
    at("controls").prepend(
      field("recordings", "Recordings", make("ul", { id: "list" }), make("div", { className: "row" }, refresh)),
      field("compare", "Beside", make("label", { className: "slide" }, make("span", {}, "Delay by"), offset, make("output", {}, "s")),
        make("label", { className: "slide" }, make("span", {}, "Signals of"), side),
        make("div", { className: "row" }, align, close)),
      field("summary", "Summary", make("table", { id: "summary-table" }), make("p", { id: "broken" })));
  }

  async ask(what) {
    try {
      this.controls.say(await this.link.order({ do: "replay", what }), "quiet");
    } catch (refusal) {
      this.controls.say(refusal.message, "bad");
    }
  }

  /** Seeks to a time; while one order is pending only the last request is kept. */
  async seek(at_s) {
    if (this.now) at_s = Math.min(this.now.to_s, Math.max(this.now.from_s, at_s));
    const asking = this.wanted !== null;
    this.wanted = at_s;
    if (asking) return;
    while (this.wanted !== null) {
      const going = this.wanted;
      await this.ask({ seek: going });
      if (this.wanted === going) this.wanted = null;
    }
  }

  get at_s() {
    return this.wanted ?? this.now?.at_s ?? 0;
  }

  toggle() {
    this.ask(this.now?.playing ? "pause" : "play");
  }

  key(event) {
    const typing = event.target.matches?.("input[type=number], select, input[type=range]");
    if (event.defaultPrevented || typing || event.ctrlKey || event.altKey || event.metaKey) return;
    const step = event.shiftKey ? 1 : 0.1;
    const acts = {
      " ": () => !event.target.matches?.("button") && this.toggle(), ArrowLeft: () => this.seek(this.at_s - step),
      ArrowRight: () => this.seek(this.at_s + step), Home: () => this.seek(this.now?.from_s ?? 0),
      End: () => this.seek(this.now?.to_s ?? 0), n: () => this.mark(1), p: () => this.mark(-1),
    };
    if (!(event.key in acts) || acts[event.key]() === false) return;
    event.preventDefault();
  }

  /** Goes to the next mark, or the previous one. */
  mark(way) {
    const places = this.timeline.marks.map(({ from_s }) => from_s).sort((a, b) => way * (a - b));
    const next = places.find((place) => way * (place - this.at_s) > 0.02);
    if (next !== undefined) this.seek(next);
  }

  /** Shows the open recordings and the list. */
  overview({ list, open }) {
    at("recordings").hidden = !list.length;
    at("list").replaceChildren(...list.map((one) => this.listed(one, open)));
    open.forEach((told, place) => {
      const other = told?.number !== this.open[place]?.number;
      this.open[place] = told;
      if (other) this.take(place, told);
      this.describe(place);
    });
    document.body.dataset.beside = String(Boolean(open[1]));
    at("compare").hidden = !open[1];
    this.summaries();
    this.timeline.show(open, this.tables);
    this.scenes.forEach((scene) => scene.resize());
  }

  listed({ number, name, bytes, duration_s, command }, open) {
    const about = [command, duration_s && `${Number(duration_s.toFixed(1))} s`, `${(bytes / 1e6).toFixed(1)} MB`].filter(Boolean).join(", ");
    const choose = (text, beside, title) => {
      const chosen = make("button", { textContent: text, title });
      chosen.disabled = beside && !open[0];
      chosen.addEventListener("click", () => {
        this.controls.say(`reading ${name}`, "quiet");
        this.ask({ open: { number, beside } });
      });
      return chosen;
    };
    const shown = open.findIndex((one) => one?.name === name);
    return make("li", { dataset: { shown: String(shown) } }, make("span", { title: name }, name.replace(/\/recording\.mcap$/, ""),
      make("small", { className: "quiet" }, about)), choose("Open", false, `Open ${name}`), choose("Beside", true, `Open ${name} beside the first`));
  }

  /** Places another recording in a view. */
  async take(place, told) {
    this.tables[place] = null;
    this.frames[place] = null;
    if (place === 0) this.stiffnessMap.clear();
    if (!told) return this.plot();
    const { tool_radius_m: radius_m, tool_edges_m: edges_m } = told.config ?? {};
    if (radius_m) this.scenes[place].changeTool({ radius_m, edges_m });
    const answer = await fetch(`trace/${told.number}`);
    if (!answer.ok || this.open[place]?.number !== told.number) return;
    const numbers = new Float32Array(await answer.arrayBuffer());
    const rows = numbers.length / told.columns.length;
    this.tables[place] = Object.fromEntries(told.columns.map((name, n) => [name, numbers.subarray(n * rows, (n + 1) * rows)]));
    this.timeline.show(this.open, this.tables);
    this.plot();
  }

  plot() {
    this.tracks.show(this.tables, { offset_s: this.now?.offset_s ?? 0, side: at("side").value });
  }

  /** Describes the surface of a view, in the text over it. */
  describe(place) {
    const told = this.open[place];
    const words = at(`of-${place}`);
    words.hidden = !told;
    if (!told) return;
    const { film, config } = told;
    const front_s = this.now?.fronts_s?.[place];
    const compared = film.different
      ? `surface recomputed, but its force differs in ${film.different} of ${film.ticks} ticks, by ${film.worst_n.toPrecision(2)} N at most`
      : "surface recomputed: its force is bit-identical to the recording";
    const done = film.done || this.now?.done?.[place];
    const state = film.without ? `tool and forces only: ${film.without}`
      : done ? compared : `recomputing the surface: ${(front_s ?? 0).toFixed(1)} of ${told.length_s.toFixed(1)} s`;
    const mode = config ? ` · ${config.mode}, twin ${config.twin}, tissue ${config.tissue}` : "";
    const name = make("b", {}, `${this.open[1] ? "AB"[place] + " · " : ""}${told.name.replace(/\/recording\.mcap$/, "")}`);
    words.replaceChildren(name, mode, make("br"), make("span", { dataset: { mood: film.without || film.different ? "wait" : "quiet" } }, state));
    if (told.damage) words.append(make("br"), make("span", { dataset: { mood: "bad" } }, told.damage));
    this.grids[place].visible = Boolean(film.without);
    this.scenes[place].dirty = true;
  }

  /** Shows the present time; called many times a second. */
  moment(word) {
    const before = this.now;
    this.now = word;
    if (before && word.at_s < before.at_s) this.stiffnessMap.clear();
    if (before?.offset_s !== word.offset_s) {
      if (document.activeElement !== at("offset")) at("offset").value = word.offset_s.toFixed(3);
      this.plot();
    }
    if (before?.speed !== word.speed) {
      const near = SPEEDS.reduce((best, one, n) => (Math.abs(one - word.speed) < Math.abs(SPEEDS[best] - word.speed) ? n : best), 0);
      if (document.activeElement !== at("speed")) at("speed").value = near;
      at("speed-value").textContent = `${Number(word.speed.toPrecision(3))} ×`;
    }
    this.known();
  }

  /** A surface that is not computed yet is faint. */
  known() {
    const { at_s, offset_s, fronts_s, done, proxies_m } = this.now;
    this.scenes.forEach((scene, place) => {
      const proxy = this.proxies[place];
      proxy.visible = Boolean(proxies_m[place]);
      if (proxy.visible) {
        proxy.position.set(...proxies_m[place]);
        proxy.scale.setScalar(scene.radius_m);
      }
      if (!this.open[place] || !scene.material) return;
      const own_s = place ? at_s - offset_s : at_s;
      const known = fronts_s[place] !== null && own_s <= fronts_s[place] + 1e-6 || done[place];
      const opacity = known ? 1 : UNKNOWN;
      if (scene.material.opacity !== opacity) {
        Object.assign(scene.material, { opacity, transparent: !known, needsUpdate: true });
        scene.dirty = true;
      }
    });
  }

  mesh(frame) {
    this.beside.mesh(frame);
    // lit, in the colour of untouched tissue
    this.beside.colors.array.set(Float32Array.from({ length: frame.rest_m.length }, (_, n) => [0.718, 0.442, 0.35][n % 3]));
    this.beside.painted();
  }

  surface(frame) {
    this.beside.surface(frame);
  }

  state(frame) {
    this.frames[frame.place] = frame;
    if (frame.place) this.beside.state(frame, false);
  }

  /** Draws one frame of the screen. */
  draw(now_ms) {
    this.follow();
    if (this.open[1]) {
      this.beside.draw();
      this.beside.afford(now_ms - (this.drawn_ms ?? now_ms));
    }
    this.drawn_ms = now_ms;
    const { now } = this;
    if (!now) return;
    const at_s = this.at_s;
    at("play").textContent = now.playing ? "❚❚" : "▶";
    at("play").setAttribute("aria-label", now.playing ? "Pause" : "Play");
    const waits = now.waiting ? " · waiting for the surface" : "";
    at("clock").textContent = `${at_s.toFixed(2)} of ${now.to_s.toFixed(2)} s${waits}`;
    this.timeline.draw(now, at_s);
    this.tracks.draw(now_ms, at_s);
    if (now_ms - (this.told_ms ?? 0) > 250 && now.done.some((done) => done === false)) {
      this.told_ms = now_ms;
      [0, 1].forEach((place) => this.describe(place));
    }
  }

  /** Aligns the cameras of both views; the one that was turned last leads. */
  follow() {
    if (!this.open[1]) return;
    const look = (scene) => JSON.stringify([scene.look, scene.target.toArray()]);
    const looks = this.scenes.map(look);
    const lead = looks.findIndex((one, place) => one !== this.looked?.[place]);
    if (lead >= 0 && looks[0] !== looks[1]) {
      const [from, to] = [this.scenes[lead], this.scenes[1 - lead]];
      to.look = { ...from.look };
      to.target.copy(from.target);
      to.turned();
    }
    this.looked = this.scenes.map(look);
  }

  /** Shows numbers of both sides at the present time. */
  numbers() {
    const force = (side, name) => Math.hypot(...side[name].slice(0, 3)).toFixed(2);
    const of = (frame) => frame && {
      "tick": frame.master.tick, "force on the hand": `${force(frame.master, "port_force_n")} N`,
      "force on the probe": frame.slave.force_known ? `${force(frame.slave, "tissue_force_n")} N` : "?",
      "one way": Number.isFinite(frame.master.oneway_s) ? `${(1e3 * frame.master.oneway_s).toFixed(1)} ms` : "?",
      "late ticks": `${frame.master.late} / ${frame.slave.late}`, "phase": frame.master.phase,
      "twin confidence": `${(100 * frame.master.confidence).toFixed(0)} %`,
    };
    const all = this.frames.map((frame, place) => (this.open[place] ? of(frame) : null));
    const rows = Object.keys(all[0] ?? {}).flatMap((name) => [make("dt", {}, name),
      make("dd", {}, all.filter(Boolean).map((one) => String(one[name])).join(" · "))]);
    at("numbers").replaceChildren(...rows);
  }

  summaries() {
    const open = this.open.filter(Boolean);
    at("summary").hidden = !open.some((told) => told.summary);
    const value = (told, path, times = 1) => {
      const found = path.split(".").reduce((part, name) => part?.[name], told?.summary);
      return typeof found === "number" ? found * times : null;
    };
    const words = (number, digits) => (number === null ? "–" : number.toFixed(digits));
    const rows = SUMMARY.map(([name, unit, digits, path, times]) => {
      const values = open.map((told) => value(told, path, times));
      const apart = values.length > 1 ? [words(values.includes(null) ? null : values[1] - values[0], digits)] : [];
      const cells = [...values.map((one) => words(one, digits)), ...apart].map((text) => make("td", {}, text));
      return make("tr", {}, make("th", { scope: "row" }, unit ? `${name} [${unit}]` : name), ...cells);
    });
    const head = open.length > 1 ? [make("tr", {}, make("td"), ...["A", "B", "B − A"].map((name) => make("th", { scope: "col" }, name)))] : [];
    at("summary-table").replaceChildren(...head, ...rows);
    const broken = open.flatMap((told) => (told.summary?.checks ?? []).filter((check) => check.held === false).map((check) => check.name));
    at("broken").textContent = broken.length ? `FAIL: ${broken.join(", ")}` : "";
  }

  /** Delays the second recording so that both first contacts coincide. */
  align() {
    const first = this.tables.map((table) => {
      const touched = table?.[`${at("side").value}_n`].findIndex((force) => force > TOUCH_N);
      return touched >= 0 ? table.time_s[touched] : null;
    });
    if (first.includes(null)) return this.controls.say("one of the recordings has no contact", "bad");
    this.ask({ offset: first[0] - first[1] });
  }
}
