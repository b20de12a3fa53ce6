// A trial with a person: its question, and the buttons and keys of the answer. Shown if the session is a trial.

const at = (id) => document.getElementById(id);
const WORDS = {
  ready: "Begin when you are ready.",
  stopped: "Stopped. Press Enable to start the interval again.",
  gap: "…",
  ask: "",
  break: "Take a break. Your answers are stored.",
  done: "The trial is complete. Thank you. You may close this page.",
};

export class Trial {
  constructor(link, pointer) {
    Object.assign(this, { link, pointer, now: null });
    const step = (id, what) => at(id).addEventListener("click", () => this.step(what()));
    step("trial-go", () => "go");
    step("trial-enough", () => "enough");
    step("trial-first", () => "first");
    step("trial-second", () => "second");
    step("trial-mark", () => ({ mark: this.pointer.tool_m.slice(0, 2) }));
    addEventListener("keydown", (event) => this.key(event));
    setInterval(() => this.clock(), 200);
  }

  /** Shows the state of the trial; null if the session is none. */
  told(trial) {
    document.body.dataset.trial = String(Boolean(trial));
    at("trial").hidden = !trial;
    const before = this.now;
    this.now = trial;
    if (!trial) return;
    if (trial.phase !== before?.phase || trial.interval !== before?.interval) {
      this.since = performance.now();
      // a handle held in one interval is released before the next
      if (trial.phase !== "interval" && trial.phase !== "search") this.pointer.release();
    }
    const { phase, interval, right, question, number, of, block, blocks, practice, search } = trial;
    const words = phase === "interval" ? `Press the ${interval === 1 ? "first" : "second"} sample.`
      : phase === "search" ? "Search for the lump. Hold the tool over it and mark the place."
        : phase === "told" ? (right ? "Correct." : "Incorrect.") : phase === "ask" ? question : WORDS[phase] ?? "";
    at("trial-words").textContent = words;
    at("trial-question").textContent = phase === "ask" ? "" : question;
    const count = search || !number ? "" : ` · ${number} of ${of}`;
    at("trial-place").textContent = phase === "done" ? "" : practice ? `practice${count}` : `part ${Math.max(1, block)} of ${blocks}${count}`;
    at("trial-progress").value = practice || !of ? 0 : (Math.max(0, block - 1) + (search ? 0 : Math.max(0, number - 1) / of)) / blocks;
    const shown = { go: ["ready", "break", "told"], enough: ["interval"], first: ["ask"], second: ["ask"], mark: ["search"] };
    for (const [id, phases] of Object.entries(shown)) at(`trial-${id}`).hidden = !phases.includes(phase);
    at("trial-go").textContent = phase === "ready" && !practice ? "Begin" : "Continue";
    document.body.dataset.phase = phase;
    this.clock();
  }

  clock() {
    const limit_s = this.now?.limit_s;
    const left = limit_s ? Math.max(0, limit_s - (performance.now() - this.since) / 1000) : null;
    at("trial-left").textContent = left === null ? "" : `· ${left.toFixed(0)} s left`;
  }

  step(step) {
    this.link.order({ do: "trial", step }).catch(({ message }) => (at("trial-words").textContent = message));
  }

  key(event) {
    if (!this.now || event.repeat || event.target.closest("input, select")) return;
    const keys = { Enter: "go", 1: "first", 2: "second", m: "mark", e: "enough" };
    const button = keys[event.key] && at(`trial-${keys[event.key]}`);
    if (!button || button.hidden || event.target === button) return;
    event.preventDefault();
    button.click();
  }
}
