// Buttons, sliders and numbers: what they show, and what they ask for.

import { STATES, STALE } from "./wire.js";

const at = (id) => document.getElementById(id);
const BANNER_MS = 8000;
const MOODS = { stopped: "bad", enabled: "good", free: "quiet", paused: "wait", fault: "bad" };

/** What a side does: what it was told, and where that lets it, what it makes of it. */
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
    this.click("enable", { do: "state", word: "enable" });
    this.click("pause", { do: "state", word: "pause" });
    this.click("resume", { do: "state", word: "resume" });
    this.click("operate", () => ({ do: this.operator ? "watch" : "operate" }));
    // not modal: the stop stays in reach
    at("end").addEventListener("click", () => {
      at("ending").returnValue = "";
      at("ending").show();
    });
    at("ending").addEventListener("close", ({ target }) => target.returnValue === "end" && this.ask({ do: "end" }));
    addEventListener("keydown", (event) => event.key === "Escape" && this.ask({ do: "stop" }));
    at("mode").addEventListener("change", () => this.ask({ do: "mode", mode: at("mode").value }));
    this.slider("impedance", (v) => `${nspm(v)} N s/m`, (v) => ({ do: "impedance", nspm: nspm(v) }));
    this.slider("delay", (v) => `${v} ms`, (v) => ({ do: "link", oneway_ms: v }));
    this.slider("jitter", (v) => `± ${v} ms`, (v) => ({ do: "link", jitter_ms: v }));
    this.slider("loss", (v) => `${v} %`, (v) => ({ do: "link", loss: v / 100 }));
    at("present").addEventListener("change", ({ target }) => this.present(target.checked));
    at("grip").addEventListener("change", ({ target }) => {
      this.pointer.closed = target.checked;
      if (this.pointer.held) this.pointer.tell();
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

  /** Shows what it would be while it is moved, and asks for it when it is let go. */
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

  /** With a pointer: whether it holds the handle; without: whether the scripted hand's motion passes. */
  present(wanted) {
    if (this.facts?.pointer) return wanted ? this.pointer.take("keys") : this.pointer.release();
    this.ask({ do: "state", side: "master", word: wanted ? "resume" : "pause" });
  }

  clutch(on) {
    this.pointer.clutch = at("clutch").checked = on;
  }

  async ask(order) {
    try {
      this.say(await this.link.order(order), "quiet");
    } catch (refusal) {
      this.say(refusal.message, "bad");
      this.restore?.();
    }
  }

  say(text, mood) {
    Object.assign(at("notice"), { textContent: text }).dataset.mood = mood;
    // what went wrong is said where the person looks; what went well does not cover the picture
    Object.assign(at("banner"), { textContent: text, hidden: mood !== "bad" });
    clearTimeout(this.bannered);
    this.bannered = setTimeout(() => (at("banner").hidden = true), BANNER_MS);
  }

  /** What the session is. */
  hello({ session, version }) {
    this.facts = session ?? {};
    const { name, pointer, modes, link, impedance_nspm, duration_s, twin } = this.facts;
    at("session").textContent = `${name ?? ""}${twin ? ` · twin ${twin}` : ""}${duration_s ? ` · ${duration_s} s` : ""} · ${version}`;
    document.body.dataset.pointer = String(Boolean(pointer));
    this.pointer.canvas.dataset.pointer = String(Boolean(pointer));
    at("mode").replaceChildren(...(modes ?? []).map(({ name, now }) => new Option(MODE(name, now), name)));
    at("mode").value = this.facts.mode;
    at("depth-slider").hidden = at("hint").hidden = !pointer;
    at("hint").textContent = "Hold the left button on the tissue: the tool comes. Wheel, or Shift and drag down, presses. "
      + "Keys: Space takes and lets go, arrows move, Page Down presses. Right button turns the view. Squares are 10 mm."
      + (pointer && this.facts.for !== "rehearsal" ? " Orange is the robot." : "");
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

  /** A session that ends says so at once, and where its files are. */
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
    for (const control of document.querySelectorAll("#motion button, #motion input, #coupling *, #network *, #end, #press, fieldset.rehearsal-only")) {
      control.disabled = over || !operator;
    }
    at("operate").textContent = operator ? "Only watch" : "Operate";
    at("operate").disabled = over || (!operator && taken);
  }

  connection(text, mood) {
    Object.assign(at("connection"), { textContent: text }).dataset.mood = mood;
  }

  /** What changes all the time; called a few times a second. */
  state(frame, seen) {
    const { master, slave } = frame;
    for (const [id, who, side] of [["master-state", "hand", master], ["slave-state", "robot", slave]]) {
      const name = standing(side);
      const stale = side.spoken && side.events & STALE;
      Object.assign(at(id), { textContent: `${who} ${name}${stale ? ", no frames" : ""}` }).dataset.mood = stale ? "wait" : MOODS[name] ?? "quiet";
    }
    if (document.activeElement !== at("mode")) {
      const mode = this.facts?.modes?.find(({ code }) => code === master.mode);
      if (mode) at("mode").value = mode.name;
    }
    at("present").checked = this.facts?.pointer ? this.pointer.held : master.ordered === 1;
    if (document.activeElement !== at("press")) at("press").value = (1e3 * this.pointer.depth_m).toFixed(1);
    const aim_mm = 1e3 * this.pointer.depth_m;
    at("press-value").value = `${Math.abs(aim_mm).toFixed(1)} mm ${aim_mm < 0 ? "above" : "deep"}`;
    // the page of one side alone knows no numbers of the other
    const both = (hand, robot) => `${hand} / ${slave.spoken ? robot : "–"}`;
    const rows = {
      "round trip": ms(master.rtt_s), "one way": `${ms(master.oneway_s)} ± ${ms(master.bound_s)}`,
      "packets in / out": `${both(this.rate("in", master.received, frame.at_s), this.rate("out", slave.received, frame.at_s))} /s`,
      "ticks": `${both(this.rate("hand", master.tick, frame.at_s), this.rate("robot", slave.tick, frame.at_s))} /s`,
      "late ticks": both(master.late, slave.late), "computing": `${both(master.compute_us.toFixed(0), slave.compute_us.toFixed(0))} µs`,
      "impedance": `${master.impedance_nspm.toFixed(1)} N s/m`, "twin known here": `${(100 * master.confidence).toFixed(0)} %`,
      "limits acting": limits(master.events | slave.events), "pictures": `${seen.pictures} /s, ${seen.work_ms.toFixed(1)} ms each`,
    };
    if (Number.isFinite(master.pointer_hz)) {
      rows["pointer"] = `${master.pointer_hz.toFixed(0)} /s, ${(1e3 * master.pointer_age_s).toFixed(0)} ms old`;
      rows["pointer to picture"] = seen.echo_ms === null ? "–" : `${seen.echo_ms.toFixed(0)} ms`;
    }
    if (this.facts?.for === "rehearsal") {
      const left_s = Math.max(0, (this.facts.ends_unix_ms - Date.now()) / 1e3);
      rows["time left"] = `${Math.floor(left_s / 60)} min ${Math.floor(left_s % 60)} s`;
      for (const name of BETWEEN) delete rows[name];
      for (const name of ["ticks", "late ticks", "computing"]) rows[name] = rows[name].replace(/ \/ ([\d.]+|–)/, "");
    }
    const cut = master.links_cut;
    at("cut").value = cut > 0 ? `${cut} links cut` : cut < 0 ? `${-cut} links made` : "nothing cut";
    table(rows);
  }

  rate(name, count, now_s) {
    const before = this.rates[name];
    if (!before || count < before.count || now_s - before.now_s > 5) this.rates[name] = { count, now_s, hz: 0 };
    else if (now_s - before.now_s > 0.9) this.rates[name] = { count, now_s, hz: (count - before.count) / (now_s - before.now_s) };
    return this.rates[name].hz.toFixed(0);
  }
}

const MODE = (name, now) => (now && now !== name ? `${name}, now ${now}` : name);
// what there is only between two sides
const BETWEEN = ["round trip", "one way", "packets in / out", "impedance", "twin known here"];
const LIMITS = { 1: "energy", 4: "speed", 8: "force", 16: "workspace", 64: "slew", 512: "contact" };

function limits(events) {
  const acting = Object.entries(LIMITS).filter(([bit]) => events & bit);
  return acting.map(([, name]) => name).join(", ") || "none";
}

function ms(seconds) {
  return Number.isFinite(seconds) ? `${(1e3 * seconds).toFixed(1)} ms` : "?";
}

function nspm(exponent) {
  return Number((10 ** exponent).toPrecision(2));
}

/** Names and numbers; only what is another is laid out again. */
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
