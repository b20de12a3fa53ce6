// Signals of recordings around the present time: of one, both sides; of two, both and their difference.

const EVERY_MS = 60;

/** Title, unit, least span from 0 on (0: any), the lines of one recording, and the columns of two. */
const TRACKS = [
  ["Force", "N", 1, [["hand", "hand", "hand_n"], ["robot", "robot", "robot_n"]], { hand: "hand_n", robot: "robot_n" }],
  ["Height", "mm", 0, [["hand", "hand", "hand_mm"], ["robot", "robot", "robot_mm"]], { hand: "hand_mm", robot: "robot_mm" }],
  ["Delay", "ms", 10, [["to hand", "hand", "to_hand_ms"], ["to robot", "robot", "to_robot_ms"], ["bound", "quiet", "late_ms"],
    ["", "quiet", "early_ms"]], { hand: "to_hand_ms", robot: "to_robot_ms" }],
  ["Energy", "mJ", 1, [["hand", "hand", "hand_mj"], ["robot", "robot", "robot_mj"], ["in transit", "quiet", "flight_mj"]],
    { hand: "hand_mj", robot: "robot_mj" }],
];

const known = (value) => (Number.isFinite(value) ? value : null);

export class Tracks {
  constructor(root) {
    root.replaceChildren();
    this.root = root;
    this.span_s = 15;
    this.at_s = 0;
    this.drawn_ms = 0;
    this.tracks = [];
    new ResizeObserver(() => this.tracks.forEach(({ plot, box }) => plot.setSize(size(box)))).observe(root);
  }

  /** Shows the lines of the open recordings. */
  show(tables, { offset_s, side }) {
    this.lines = null;
    if (!tables[0]) {
      this.root.replaceChildren();
      this.tracks = [];
      return;
    }
    this.lines = tables[1] ? two(tables, offset_s, side) : one(tables[0]);
    this.build();
  }

  /** Builds the plots, again after a change of the page's colours. */
  build() {
    if (!this.lines) return;
    const style = getComputedStyle(document.documentElement);
    const ink = (name) => style.getPropertyValue(name).trim();
    this.root.replaceChildren();
    this.tracks = this.lines.map(({ title, unit, span, lines, data }) => {
      const head = document.createElement("h2");
      head.append(`${title} [${unit}]`);
      for (const [name, kind] of lines.filter(([name]) => name)) {
        const key = head.appendChild(document.createElement("span"));
        key.className = `key ${kind}`;
        key.textContent = name;
      }
      const box = this.root.appendChild(document.createElement("div"));
      box.className = "strip";
      box.append(head);
      const range = within(span, data.slice(1));
      const axis = { stroke: ink("--quiet"), grid: { stroke: ink("--grid"), width: 1 }, ticks: { show: false }, size: 26, font: "11px sans-serif" };
      const cursor = (plot) => {
        const x = Math.round(plot.valToPos(this.at_s, "x", true));
        if (x < plot.bbox.left || x > plot.bbox.left + plot.bbox.width) return;
        plot.ctx.fillStyle = ink("--ink");
        plot.ctx.fillRect(x, plot.bbox.top, Math.max(1, devicePixelRatio), plot.bbox.height);
      };
      const options = {
        ...size(box), legend: { show: false }, cursor: { show: false }, select: { show: false }, hooks: { draw: [cursor] },
        scales: { x: { time: false, range: () => this.range() }, y: { range: () => range } },
        axes: [{ ...axis, values: (_, ticks) => ticks.map((at) => `${Number(at.toFixed(2))} s`) }, { ...axis, size: 40 }],
        series: [{}, ...lines.map(([, kind]) => ({
          stroke: ink(`--${kind}`), width: kind === "quiet" ? 1 : 1.5, dash: kind === "quiet" ? [4, 3] : undefined, points: { show: false },
        }))],
      };
      return { box, plot: new uPlot(options, data, box) };
    });
  }

  range() {
    const times = this.lines[0].data[0];
    const [first, last] = [times[0], times.at(-1)];
    if (!this.span_s || this.span_s >= last - first) return [first, last];
    const from = Math.min(last - this.span_s, Math.max(first, this.at_s - this.span_s / 2));
    return [from, from + this.span_s];
  }

  draw(now_ms, at_s) {
    const same = this.at_s === at_s && this.spanned === this.span_s;
    if (!this.lines || same || now_ms - this.drawn_ms < EVERY_MS) return;
    this.drawn_ms = now_ms;
    this.at_s = at_s;
    this.spanned = this.span_s;
    const [min, max] = this.range();
    for (const { plot } of this.tracks) plot.setScale("x", { min, max });
  }
}

function one(table) {
  const times = Array.from(table.time_s);
  return TRACKS.map(([title, unit, span, lines]) => ({
    title, unit, span, lines, data: [times, ...lines.map(([, , column]) => Array.from(table[column], known))],
  }));
}

/** Resamples both to one time axis, with an offset of the second, and adds their difference. */
function two([first, second], offset_s, side) {
  const step = (table) => (table.time_s.length > 1 ? table.time_s[1] - table.time_s[0] : 1);
  const every_s = Math.max(step(first), step(second));
  const from_s = Math.min(0, offset_s);
  const to_s = Math.max(first.time_s.at(-1), offset_s + second.time_s.at(-1));
  const times = Array.from({ length: Math.floor((to_s - from_s) / every_s) + 1 }, (_, n) => from_s + n * every_s);
  const taken = (table, column, later_s) => times.map((at_s) => known(table[column][Math.round((at_s - later_s) / step(table))] ?? NaN));
  return TRACKS.map(([title, unit, span, , of]) => {
    const [a, b] = [taken(first, of[side], 0), taken(second, of[side], offset_s)];
    const apart = a.map((value, n) => (value === null || b[n] === null ? null : b[n] - value));
    const lines = [["A", "hand"], ["B", "robot"], ["B − A", "quiet"]];
    return { title, unit, span, lines, data: [times, a, b, apart] };
  });
}

/** Size of a box without its heading. */
function size(box) {
  const head = box.firstElementChild.offsetHeight;
  return { width: Math.max(80, box.clientWidth - 8), height: Math.max(60, box.clientHeight - head - 8) };
}

/** Range of all lines, with a margin. */
function within(span, lines) {
  let [low, high] = [Infinity, -Infinity];
  for (const line of lines) for (const value of line) if (value !== null) [low, high] = [Math.min(low, value), Math.max(high, value)];
  if (low > high) return [0, span || 1];
  if (span) return [Math.min(0, 1.05 * low), Math.max(span, 1.1 * high)];
  const room = 0.05 * (high - low) || 0.5;
  return [low - room, high + room];
}
