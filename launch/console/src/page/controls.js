// Buttons, sliders and numbers: their display, and their orders.

import { STATES, STALE, TISSUE_COLLAPSED } from "./wire.js";

const at = (id) => document.getElementById(id);
const BANNER_MS = 8000;
const MOODS = { stopped: "bad", enabled: "good", free: "quiet", paused: "wait", fault: "bad" };

/** State of a side: as commanded, or its own state where the command allows motion. */
function standing(side) {
  if (!side.spoken) return "–";
  if (side.ordered === 0) return "stopped";
  if (side.ordered !== 1) return STATES[side.ordered] ?? "?";
  return side.state === 0 ? "free" : STATES[side.state] ?? "?";
}

export class Controls {
  constructor(link, pointer) {
    Object.assign(this, { link, pointer });
    this.operator = false;
    this.rates = {};
    this.click("stop", { do: "stop" });
    at("enable").addEventListener("click", () => this.enable());
    this.click("pause", { do: "state", word: "pause" });
    this.click("resume", { do: "state", word: "resume" });
    this.click("operate", () => ({ do: this.operator ? "watch" : "operate" }));
    // not modal: the stop button stays reachable
    at("end").addEventListener("click", () => {
      at("ending").returnValue = "";
      at("ending").show();
    });
    at("ending").addEventListener("close", ({ target }) => target.returnValue === "end" && this.ask({ do: "end" }));
    for (const grant of [true, false]) {
      this.click(grant ? "handover-grant" : "handover-decline", () => ({ do: "hand-over", grant, to: this.facts.asks }));
    }
    addEventListener("keydown", (event) => event.key === "Escape" && this.ask({ do: "stop" }));
    at("mode").addEventListener("change", () => this.ask({ do: "mode", mode: at("mode").value }));
    this.slider("impedance", (v) => `${nspm(v)} N s/m`, (v) => ({ do: "impedance", nspm: nspm(v) }));
    this.slider("delay", (v) => `${v} ms`, (v) => ({ do: "link", oneway_ms: v }));
    this.slider("jitter", (v) => `± ${v} ms`, (v) => ({ do: "link", jitter_ms: v }));
    this.slider("loss", (v) => `${v} %`, (v) => ({ do: "link", loss: v / 100 }));
    at("present").addEventListener("change", ({ target }) => this.present(target.checked));
    at("grip").addEventListener("change", ({ target }) => {
      this.pointer.closed = target.checked;
      if (this.pointer.held) this.pointer.send();
    });
    at("clutch").addEventListener("change", ({ target }) => (this.pointer.clutch = target.checked));
    addEventListener("keydown", (event) => event.key === "c" && this.clutch(true));
    addEventListener("keyup", (event) => event.key === "c" && this.clutch(false));
    at("scaling").addEventListener("input", ({ target }) => {
      const half = 2 ** -Number(target.value);
      this.pointer.scale = 1 / half;
      at("scaling-value").value = half >= 1 ? `${half} : 1` : `1 : ${1 / half}`;
    });
    at("press").addEventListener("input", ({ target }) => (this.pointer.depth_m = Number(target.value) / 1e3));
  }

  click(id, order) {
    at(id).addEventListener("click", () => this.ask(typeof order === "function" ? order() : order));
  }

  /** Shows its value while it is moved, and sends its order when it is released. */
  slider(id, words, order) {
    const input = at(id);
    const show = () => (at(`${id}-value`).value = words(Number(input.value)));
    input.addEventListener("input", show);
    input.addEventListener("change", () => this.ask(order(Number(input.value))));
    input.show = (value) => {
      input.value = value;
      show();
    };
  }

  /** Enables both sides; the session moves a pointer's handle to the robot before it can be taken. */
  async enable() {
    const { master, slave } = this.frame ?? {};
    const offset_mm = slave?.spoken ? 1e3 * Math.hypot(...[0, 1, 2].map((axis) => master.position_m[axis] - slave.position_m[axis])) : 0;
    const realigned = this.pointer.halted && this.facts?.pointer && offset_mm >= 0.05;
    await this.ask({ do: "state", word: "enable" }, realigned ? `; the hand moves ${offset_mm.toFixed(1)} mm to the robot` : "");
  }

  /** Shows a halt of the operator's side, and releases the handle: the hand stands, whatever the pointer does. */
  halt({ spoken, ordered }) {
    const halted = Boolean(spoken) && ordered !== 1;
    if (this.pointer.halted === halted) return;
    this.pointer.halted = halted;
    if (halted) this.pointer.release();
    at("halted").textContent = HALTED[ordered] ?? "";
    document.body.dataset.halted = at("present").disabled = halted && Boolean(this.facts?.pointer);
    at("halted").hidden = !halted;
  }

  /** With a pointer: takes or releases the handle; without: lets the scripted hand move or pauses it. */
  present(wanted) {
    if (this.facts?.pointer) return wanted ? this.pointer.take("keys") : this.pointer.release();
    this.ask({ do: "state", side: "master", word: wanted ? "resume" : "pause" });
  }

  clutch(on) {
    this.pointer.clutch = at("clutch").checked = on;
  }

  /** Sends an order and shows its reply, followed by `more`. */
  async ask(order, more = "") {
    try {
      this.say(`${await this.link.order(order)}${more}`, "quiet");
    } catch (refusal) {
      this.say(refusal.message, "bad");
      this.restore?.();
    }
  }

  say(text, mood) {
    Object.assign(at("notice"), { textContent: text }).dataset.mood = mood;
    // an error is shown over the view; a success does not cover it
    Object.assign(at("banner"), { textContent: text, hidden: mood !== "bad" });
    clearTimeout(this.bannered);
    this.bannered = setTimeout(() => (at("banner").hidden = true), BANNER_MS);
  }

  /** Shows the facts of the session. */
  hello({ session, version }) {
    this.facts = session ?? {};
    const { name, pointer, modes, link, impedance_nspm, duration_s, twin } = this.facts;
    at("session").textContent = `${name ?? ""}${twin ? ` · twin ${twin}` : ""}${duration_s ? ` · ${duration_s} s` : ""} · ${version}`;
    const { secured, asks } = this.facts;
    at("handover").hidden = !asks;
    at("handover-words").textContent = `${asks} asks for the robot. If you grant it, the robot stops and this session ends.`;
    Object.assign(at("security"), { textContent: secured ? "link secured" : "LINK NOT SECURED", hidden: typeof secured !== "boolean" })
      .dataset.mood = secured ? "good" : "bad";
    document.body.dataset.pointer = String(Boolean(pointer));
    this.pointer.canvas.dataset.pointer = String(Boolean(pointer));
    at("mode").replaceChildren(...(modes ?? []).map(({ name, now }) => new Option(MODE(name, now), name)));
    at("mode").value = this.facts.mode;
    at("depth-slider").hidden = at("hint").hidden = !pointer;
    at("hint").textContent = "Hold the left button on the tissue to take the tool there. The wheel, or Shift and a drag down, presses. "
      + "Keys: Space takes and releases the handle, arrows move, Page Down presses. The right button turns the view. Squares are 10 mm. "
      + (pointer && this.facts.for !== "rehearsal" ? "Orange is the robot." : "");
    at("network").hidden = !link;
    if (link) {
      at("delay").show(link.forward.oneway_ms);
      at("jitter").show(link.forward.jitter_ms);
      at("loss").show(100 * link.forward.loss);
    }
    at("impedance").show(Math.log10(impedance_nspm || 1));
    at("grip").closest("label").hidden = !pointer;
    this.ending(false);
  }

  /** Announces the end of a session, and the folder of its files. */
  ending(over) {
    const { folder } = this.facts?.ending ?? {};
    if (folder && !over) this.connection("ending: writing files", "wait");
    if (over) this.connection("ended", "quiet");
    at("over").hidden = !folder && !over;
    at("over").textContent = over
      ? `Ended.${folder ? ` Its folder is ${folder}.` : ""}`
      : `Ending: its files are being written to ${folder}.`;
    if (folder || over) document.body.dataset.over = "true";
    else delete document.body.dataset.over;
    if (folder || over) at("ending").close();
    this.role(this.told ?? { operator: this.operator, taken: false, pages: 1 });
  }

  role(told) {
    const { operator, taken, pages } = (this.told = told);
    this.operator = operator;
    const over = "over" in document.body.dataset;
    this.pointer.enabled = operator && !over && Boolean(this.facts?.pointer);
    if (!this.pointer.enabled) this.pointer.release();
    document.body.dataset.operator = String(operator);
    at("role").textContent = `${operator ? "operator" : "watching"}${pages > 1 ? ` · ${pages} pages` : ""}`;
    at("role").dataset.mood = operator ? "good" : "quiet";
    for (const control of document.querySelectorAll("#motion button, #motion input, #handover button, #coupling *, #network *, #end, #press, fieldset.rehearsal-only")) {
      control.disabled = over || !operator;
    }
    at("operate").textContent = operator ? "Release control" : "Take control";
    at("operate").disabled = over || (!operator && taken);
  }

  connection(text, mood) {
    Object.assign(at("connection"), { textContent: text }).dataset.mood = mood;
  }

  /** Shows numbers that change all the time; called a few times a second. */
  state(frame, seen) {
    const { master, slave } = frame;
    this.frame = frame;
    for (const [id, who, side] of [["master-state", "master", master], ["slave-state", "slave", slave]]) {
      const name = standing(side);
      const stale = side.spoken && side.events & STALE;
      const cause = side.spoken && side.events & TISSUE_COLLAPSED ? ": tissue collapsed, rebuilt" : "";
      Object.assign(at(id), { textContent: `${who} ${name}${cause}${stale ? ", no frames" : ""}` }).dataset.mood = stale ? "wait" : MOODS[name] ?? "quiet";
    }
    if (document.activeElement !== at("mode")) {
      const mode = this.facts?.modes?.find(({ code }) => code === master.mode);
      if (mode) at("mode").value = mode.name;
    }
    at("present").checked = this.facts?.pointer ? this.pointer.held : master.ordered === 1;
    if (document.activeElement !== at("press")) at("press").value = (1e3 * this.pointer.depth_m).toFixed(1);
    const aim_mm = 1e3 * this.pointer.depth_m;
    at("press-value").value = `${Math.abs(aim_mm).toFixed(1)} mm ${aim_mm < 0 ? "above" : "deep"}`;
    // without the other side its numbers are missing; a rehearsal has none
    const alone = this.facts?.for === "rehearsal";
    const both = (master_text, slave_text) => alone ? master_text : `${master_text} / ${slave.spoken ? slave_text : "–"}`;
    const rows = {
      "round trip": ms(master.rtt_s), "one way": `${ms(master.oneway_s)} ± ${ms(master.bound_s)}`,
      "impedance": `${master.impedance_nspm.toFixed(1)} N s/m`, "twin confidence": `${(100 * master.confidence).toFixed(0)} %`,
      "side": "master / slave",
      "frames received": `${both(this.rate("in", master.received, frame.at_s), this.rate("out", slave.received, frame.at_s))} Hz`,
      "tick rate": `${both(this.rate("hand", master.tick, frame.at_s), this.rate("robot", slave.tick, frame.at_s))} Hz`,
      "late ticks": both(master.late, slave.late), "tick time": `${both(master.compute_us.toFixed(0), slave.compute_us.toFixed(0))} µs`,
      "active budget": budget(master, this.facts?.active_j_max ?? 0),
      "active limits": limits(master.events | slave.events), "rendering": `${seen.pictures} fps, ${seen.work_ms.toFixed(1)} ms/frame`,
    };
    if (Number.isFinite(master.pointer_hz)) {
      rows["pointer"] = `${master.pointer_hz.toFixed(0)} Hz, ${(1e3 * master.pointer_age_s).toFixed(0)} ms old`;
      rows["pointer-to-display latency"] = seen.echo_ms === null ? "–" : `${seen.echo_ms.toFixed(0)} ms`;
    }
    if (alone) {
      const left_s = Math.max(0, (this.facts.ends_unix_ms - Date.now()) / 1e3);
      rows["time left"] = `${Math.floor(left_s / 60)} min ${Math.floor(left_s % 60)} s`;
      for (const name of CHANNEL_ROWS) delete rows[name];
    }
    const cut = master.links_cut;
    at("cut").value = cut > 0 ? `${cut} links open` : cut < 0 ? `${-cut} links joined` : "no links open";
    table(rows);
  }

  rate(name, count, now_s) {
    const before = this.rates[name];
    if (!before || count < before.count || now_s - before.now_s > 5) this.rates[name] = { count, now_s, hz: 0 };
    else if (now_s - before.now_s > 0.9) this.rates[name] = { count, now_s, hz: (count - before.count) / (now_s - before.now_s) };
    return this.rates[name].hz.toFixed(0);
  }
}

const HALTED = {
  0: "Stopped: hand and robot stand. Press Enable to go on.",
  2: "Paused: hand and robot stand. Press Resume to go on.",
  3: "Fault: the force has faded. Press Enable after its cause is gone.",
};
const MODE = (name, now) => (now && now !== name ? `${name}, now ${now}` : name);
// rows that need two sides
const CHANNEL_ROWS = ["round trip", "one way", "impedance", "twin confidence", "active budget", "side", "frames received"];
const LIMITS = { 1: "energy", 4: "speed", 8: "force", 16: "workspace", 64: "slew", 512: "contact", 65536: "remote energy",
  131072: "unpaid fall",
  524288: "refused frame",
  262144: "limit cycle" };

function limits(events) {
  const acting = Object.entries(LIMITS).filter(([bit]) => events & bit);
  return acting.map(([, name]) => name).join(", ") || "none";
}

/** Energy that the remote side returned beyond what it was sent, of the declared budget. */
function budget({ sent_j, received_j }, most_j) {
  const used_j = Math.max(0, received_j.reduce((sum, j, axis) => sum + j - sent_j[axis], 0));
  return `${(1e3 * used_j).toFixed(1)} of ${(1e3 * most_j).toFixed(1)} mJ`;
}

function ms(seconds) {
  return Number.isFinite(seconds) ? `${(1e3 * seconds).toFixed(1)} ms` : "?";
}

function nspm(exponent) {
  return Number((10 ** exponent).toPrecision(2));
}

/** Shows names and numbers; writes changed texts only. */
function table(rows) {
  const [texts, cells] = [Object.entries(rows).flat(), at("numbers").children];
  if (cells.length !== texts.length) {
    return at("numbers").replaceChildren(...texts.map((text, n) => cell(n % 2 ? "dd" : "dt", text)));
  }
  texts.forEach((text, n) => cells[n].textContent !== text && (cells[n].textContent = text));
}

function cell(kind, text) {
  const cell = document.createElement(kind);
  cell.textContent = text;
  return cell;
}
