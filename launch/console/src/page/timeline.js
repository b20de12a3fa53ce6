// Time line of a recording: the force, the marks, the progress of the surface, and the present time.

const EDGE = 8;
const NEAR = 5;

export class Timeline {
  /** `seek` receives the selected time, `word` shows the mark under the pointer. */
  constructor(canvas, seek, word) {
    Object.assign(this, { canvas, seek, word });
    this.marks = [];
    this.open = [null, null];
    this.tables = [null, null];
    this.now = null;
    this.back = document.createElement("canvas");
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.seek(this.time(event));
    });
    canvas.addEventListener("pointermove", (event) => {
      if (event.buttons & 1) this.seek(this.time(event));
      this.name(this.time(event));
    });
    new ResizeObserver(() => this.paint()).observe(canvas);
  }

  time(event) {
    const { from_s, to_s } = this.now ?? { from_s: 0, to_s: 1 };
    const share = (event.offsetX - EDGE) / (this.canvas.clientWidth - 2 * EDGE);
    return from_s + Math.min(1, Math.max(0, share)) * (to_s - from_s);
  }

  x(at_s) {
    const { from_s, to_s } = this.now ?? { from_s: 0, to_s: 1 };
    return EDGE + ((at_s - from_s) / (to_s - from_s || 1)) * (this.canvas.clientWidth - 2 * EDGE);
  }

  /** Shows the marks near a time. */
  name(at_s) {
    const per_px = (this.now ? this.now.to_s - this.now.from_s : 1) / this.canvas.clientWidth;
    const far = ({ from_s, to_s }) => Math.max(from_s - at_s, at_s - to_s, 0);
    const near = this.marks.filter((mark) => far(mark) < NEAR * per_px).sort((a, b) => far(a) - far(b));
    this.word.textContent = near.slice(0, 3).map(({ kind, side, from_s, to_s, of }) =>
      `${of}${kind} (${side === "master" ? "hand" : "robot"}) ${from_s.toFixed(2)}${to_s - from_s > 0.05 ? `–${to_s.toFixed(2)}` : ""} s`).join(", ");
  }

  show(open, tables) {
    Object.assign(this, { open: [...open], tables: [...tables] });
    this.paint();
  }

  /** Paints the static part. */
  paint() {
    if (!this.now) return;
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const ratio = devicePixelRatio;
    for (const canvas of [this.canvas, this.back]) [canvas.width, canvas.height] = [width * ratio, height * ratio];
    const pen = this.back.getContext("2d");
    pen.scale(ratio, ratio);
    const style = getComputedStyle(document.documentElement);
    const ink = (name) => style.getPropertyValue(name).trim();
    pen.fillStyle = ink("--ground");
    pen.fillRect(0, 0, width, height);
    const shown = this.open.filter(Boolean).length || 1;
    const lane = height / shown;
    this.marks = [];
    this.open.forEach((told, place) => {
      if (!told) return;
      const top = place * lane;
      const shift_s = place ? this.now.offset_s : 0;
      this.force(pen, this.tables[place], { top, lane, shift_s, color: ink(place ? "--robot" : "--hand") });
      for (const mark of told.marks) {
        const moved = { ...mark, from_s: mark.from_s + shift_s, to_s: mark.to_s + shift_s, of: shown > 1 ? `${"AB"[place]} ` : "" };
        this.marks.push(moved);
        pen.fillStyle = ink(`--${mark.mood}`);
        const x = this.x(moved.from_s);
        const tall = { bad: lane, wait: 7, quiet: 4 }[mark.mood];
        pen.fillRect(x, top + lane - tall, Math.max(1.5, this.x(moved.to_s) - x), tall);
      }
    });
    this.drawn = null;
  }

  force(pen, table, { top, lane, shift_s, color }) {
    if (!table) return;
    const columns = new Map();
    let most = 0.1;
    table.time_s.forEach((at_s, row) => {
      const x = Math.round(this.x(at_s + shift_s));
      const force = table.hand_n[row] >= 0 ? table.hand_n[row] : table.robot_n[row];
      if (force > (columns.get(x) ?? 0)) columns.set(x, force);
      if (force > most) most = force;
    });
    pen.fillStyle = color;
    pen.globalAlpha = 0.35;
    for (const [x, force] of columns) {
      const tall = (force / most) * (lane - 10);
      pen.fillRect(x, top + lane - 8 - tall, 1, tall);
    }
    pen.globalAlpha = 1;
  }

  draw(now, at_s) {
    const other = ["from_s", "to_s", "offset_s"].some((name) => this.now?.[name] !== now[name]);
    this.now = now;
    if (other) this.paint();
    const state = JSON.stringify([at_s, now.fronts_s, now.done]);
    if (state === this.drawn) return;
    this.drawn = state;
    this.canvas.setAttribute("aria-valuemin", now.from_s.toFixed(2));
    this.canvas.setAttribute("aria-valuemax", now.to_s.toFixed(2));
    this.canvas.setAttribute("aria-valuenow", at_s.toFixed(2));
    this.canvas.setAttribute("aria-valuetext", `${at_s.toFixed(2)} seconds`);
    const pen = this.canvas.getContext("2d");
    const { clientWidth: width, clientHeight: height } = this.canvas;
    pen.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    pen.drawImage(this.back, 0, 0, width, height);
    const style = getComputedStyle(document.documentElement);
    const shown = this.open.filter(Boolean).length || 1;
    pen.fillStyle = style.getPropertyValue("--good").trim();
    now.fronts_s.forEach((front_s, place) => {
      if (front_s === null || now.done[place] || !this.open[place]) return;
      const from = this.x(place ? now.offset_s : 0);
      pen.fillRect(from, (place * height) / shown, this.x(front_s + (place ? now.offset_s : 0)) - from, 3);
    });
    pen.fillStyle = style.getPropertyValue("--ink").trim();
    pen.fillRect(this.x(at_s) - 1, 0, 2, height);
    pen.beginPath();
    pen.moveTo(this.x(at_s) - 6, 0);
    pen.lineTo(this.x(at_s) + 6, 0);
    pen.lineTo(this.x(at_s), 8);
    pen.fill();
  }
}
