// Panel of a rehearsal: scenes, tools, tasks with their scores, and past attempts.

import { Marks } from "./marks.js";

const at = (id) => document.getElementById(id);
const NAMES = { "find-lump": "Find the lump", "rank-stiffness": "Rank three places", trace: "Trace a line", grasp: "Grasp" };
const PARTS = {
  off_m: (m) => `${(1e3 * m).toFixed(1)} mm from its middle`,
  pairs_right: (n) => `${n} pairs in the right order`, pairs: (n) => `${n} pairs in all`,
  force_rms_error_n: (n) => `force error ${n.toFixed(2)} N rms`, in_band: (share) => `${(100 * share).toFixed(0)} % of the time in the force band`,
  of_the_line: (share) => `${(100 * share).toFixed(0)} % of the line`, held_s: (s) => `held for ${s.toFixed(1)} s`, let_go: (n) => `${n} slips`,
};
const LETTERS = ["A", "B", "C", "D", "E"];

function make(kind, text, properties = {}) {
  return Object.assign(document.createElement(kind), { textContent: text }, properties);
}

export class Practice {
  /** `place` returns the position of the tool, x and y [m]. */
  constructor({ scene, stiffnessMap, pointer, ask, place }) {
    Object.assign(this, { stiffnessMap, pointer, ask, place });
    this.marks = new Marks(scene);
    this.order = [];
    at("rehearsal-scene").addEventListener("change", ({ target }) => this.wish({ scene: target.value }));
    at("rehearsal-anew").addEventListener("click", () => this.wish({ scene: this.now.scene }));
    at("rehearsal-tool").addEventListener("change", ({ target }) => this.wish({ tool: target.value }));
    at("swap").addEventListener("click", () => this.wish("swap"));
    at("undo").addEventListener("click", () => this.wish("undo"));
    at("redo").addEventListener("click", () => this.wish("redo"));
    at("squeeze").addEventListener("input", ({ target }) => this.squeeze(Number(target.value)));
    addEventListener("keydown", (event) => this.key(event));
  }

  wish(wish) {
    return this.ask({ do: "rehearse", wish });
  }

  squeeze(share) {
    this.pointer.closed_m = 0.019 - 0.00018 * share;
    at("squeeze-value").value = `${share} %`;
  }

  key(event) {
    if (!this.now || event.repeat || event.target.matches?.("select, input[type=text]") || event.ctrlKey || event.metaKey) return;
    if (event.key === "m" && this.doing("find-lump")) this.mark();
    if (event.key === "g") at("grip").click();
    if (event.key === "p" && this.now.second) this.wish("swap");
  }

  doing(name) {
    return this.now?.task?.name === name && !this.now.task.score;
  }

  mark() {
    const place_m = this.place();
    if (place_m) this.answered({ place_m });
  }

  /** An answer states if a program controls this browser: it is not a person's. */
  answered(said) {
    return this.wish({ answer: { ...said, machine: Boolean(navigator.webdriver) } });
  }

  /** Shows the facts of the session; null for one that is no rehearsal. */
  facts(facts) {
    const now = (this.now = facts?.for === "rehearsal" ? facts.rehearsal : null);
    this.stiffnessMap.hidden = Boolean(now?.task && !now.task.score && !now.task.shows_stiffness);
    if (!now) return this.marks.show(null);
    this.squeeze(Number(at("squeeze").value));
    if (now.part !== this.part) {
      this.part = now.part;
      this.order = [];
      this.pointer.release();
      this.pointer.aim_m = [...this.pointer.tool_m];
      [this.swaps, this.left_closed] = [now.second?.swaps, false];
    }
    this.swapped(now.second);
    this.options("rehearsal-scene", now.scenes, now.scene);
    this.options("rehearsal-tool", now.tools, now.tool);
    at("rehearsal-about").textContent = now.scenes.find(({ name }) => name === now.scene)?.about ?? "";
    at("tool-about").textContent = now.tools.find(({ name }) => name === now.tool)?.about ?? "";
    const cuts = now.tools.some(({ name }) => name === "scalpel");
    at("revise").hidden = !cuts;
    at("grip-force").hidden = now.tool !== "tweezers";
    at("swap").hidden = !now.second;
    this.pointer.jaws = now.tool === "tweezers";
    const works = now.tool === "tweezers" ? "Jaws closed (G)" : "Tool active (G)";
    at("grip").nextSibling.textContent = ` ${works}`;
    at("grip").closest("label").hidden = now.tool !== "tweezers" && !cuts;
    if (at("paint").value === "robot") {
      at("paint").value = "hand";
      at("paint").dispatchEvent(new Event("change"));
    }
    this.task(now);
    this.progress(now);
    this.marks.show(now.task);
  }

  /** The hand has another tool, with its jaws unchanged; it must be taken at its place. */
  swapped(second) {
    if (second?.swaps === this.swaps) return;
    this.swaps = second?.swaps;
    this.pointer.release();
    this.pointer.rest();
    // jaws stay closed; an instrument is parked inactive
    [this.pointer.closed, this.left_closed] = [this.left_closed, this.pointer.closed && second?.tool === "tweezers"];
    at("grip").checked = this.pointer.closed;
  }

  options(id, all, chosen) {
    at(id).replaceChildren(...all.map(({ name }) => new Option(name, name)));
    at(id).value = chosen;
  }

  task({ task, scene, scenes }) {
    const box = at("task");
    if (!task) {
      const tasks = scenes.find(({ name }) => name === scene)?.tasks ?? [];
      const buttons = tasks.map((name) => make("button", NAMES[name], { id: `begin-${name}`, onclick: () => this.wish({ begin: name }) }));
      const row = make("div", "", { className: "row" });
      row.append(...buttons);
      box.replaceChildren(make("p", tasks.length ? "Explore freely, or begin a task:" : "This scene has no task: explore freely."), row);
    } else if (task.score) this.result(box, task);
    else this.answer(box, task);
  }

  answer(box, task) {
    const row = make("div", "", { className: "row" });
    const button = (id, text, onclick) => row.append(make("button", text, { id, onclick }));
    if (task.name === "find-lump") button("mark", "Mark here (M)", () => this.mark());
    else if (task.name === "rank-stiffness") this.rank(row, task);
    else button("finish", "Finish", () => this.answered({}));
    button("leave", "Cancel task", () => this.wish("leave"));
    box.replaceChildren(make("p", task.words, { className: "words" }), row, make("p", "", { id: "task-left", className: "quiet" }));
  }

  /** Shows the time left for an answer, at this tick of the session, which began with the task. */
  left(tick) {
    const said = at("task-left");
    if (!said) return;
    const left_s = (this.now.task.limit_ticks - tick) / 1000;
    const text = left_s < 0 ? "The time is over: cancel the task, and begin again." : `${Math.floor(left_s / 60)} min ${Math.floor(left_s % 60)} s left`;
    if (said.textContent !== text) said.textContent = text;
  }

  /** Collects the places in the order in which they are selected. */
  rank(row, task) {
    const said = make("output", "");
    const done = make("button", "Answer", { id: "answer-rank", disabled: true, onclick: () => this.answered({ order: this.order }) });
    const show = () => {
      said.value = this.order.length ? this.order.map((site) => LETTERS[site]).join(" < ") : "softest first";
      done.disabled = this.order.length !== task.sites_m.length;
    };
    task.sites_m.forEach((_, site) => {
      const choose = () => {
        this.order = this.order.includes(site) ? this.order.filter((other) => other !== site) : [...this.order, site];
        show();
      };
      row.append(make("button", LETTERS[site], { id: `site-${LETTERS[site]}`, onclick: choose }));
    });
    row.append(said, done);
    show();
  }

  result(box, task) {
    const { score, done, time_s, peak_force_n, parts } = task.score;
    const row = make("div", "", { className: "row" });
    row.append(
      make("button", "Again", { id: "again", onclick: () => this.wish({ begin: task.name }) }),
      make("button", "Explore freely", { id: "leave", onclick: () => this.wish("leave") }),
    );
    const words = parts.map(([name, value]) => PARTS[name]?.(value) ?? `${name} ${value.toPrecision(3)}`);
    const truth = this.truth(task);
    box.replaceChildren(
      make("p", `${NAMES[task.name]}: score ${score.toFixed(2)}, ${done ? "completed" : "not completed"}`, { id: "score", className: "score" }),
      make("p", [...words, `${time_s.toFixed(1)} s`, `peak force ${peak_force_n.toFixed(1)} N`].join(" · ")),
      ...(truth ? [make("p", truth, { className: "truth" })] : []),
      row,
    );
  }

  truth({ lumps, true_npm }) {
    if (lumps?.length) {
      const [x, y] = lumps[0].center_m.map((m) => (1e3 * m).toFixed(0));
      return `The lump was at x ${x} mm, y ${y} mm, ${(2e3 * lumps[0].radius_m).toFixed(0)} mm wide: the ring shows it.`;
    }
    if (true_npm?.length) return `True stiffness: ${true_npm.map((npm, site) => `${LETTERS[site]} ${npm.toFixed(0)} N/m`).join(", ")}.`;
    return "";
  }

  progress({ progress, problem }) {
    const rows = progress.flatMap(({ name, scores }) => [make("p", `${name}: ${scores.length} ${scores.length === 1 ? "attempt" : "attempts"}, last ${scores.at(-1).toFixed(2)}, best ${Math.max(...scores).toFixed(2)}`), chart(scores)]);
    if (problem) rows.push(make("p", problem, { className: "problem" }));
    at("progress").replaceChildren(...(rows.length ? rows : [make("p", "No attempts yet. Every answer is stored with its score.")]));
  }
}

/** Draws scores, 0 to 1, against the attempts. */
function chart(scores) {
  const canvas = make("canvas", "", { width: 540, height: 88, className: "chart" });
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `Scores of ${scores.length} attempts: ${scores.map((score) => score.toFixed(2)).join(", ")}`);
  const draw = canvas.getContext("2d");
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const [left, right, low, high] = [26, 532, 80, 8];
  const x = (index) => (scores.length === 1 ? (left + right) / 2 : left + 8 + ((right - left - 16) * index) / (scores.length - 1));
  const y = (score) => low + (high - low) * score;
  draw.strokeStyle = color("--line");
  draw.fillStyle = color("--quiet");
  draw.font = "20px system-ui, sans-serif";
  for (const score of [0, 1]) {
    draw.fillText(String(score), 4, y(score) + (score ? 14 : 2));
    draw.strokeRect(left, y(score), right - left, 0);
  }
  draw.strokeStyle = draw.fillStyle = color("--accent");
  draw.lineWidth = 3;
  draw.beginPath();
  scores.forEach((score, index) => draw.lineTo(x(index), y(score)));
  draw.stroke();
  scores.forEach((score, index) => {
    draw.beginPath();
    draw.arc(x(index), y(score), 6, 0, 7);
    draw.fill();
  });
  return canvas;
}
