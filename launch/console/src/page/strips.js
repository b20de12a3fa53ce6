// Signals of the last seconds: forces, height, delay, energy.

const SECONDS = 15;
const POINTS = 900;
const EVERY_MS = 90;
const LEAST_SPAN = 2;
const PICTURES = 8;

const norm = (force) => Math.hypot(force[0], force[1], force[2]);
const sum = (axes) => axes.reduce((all, one) => all + one, 0);
const known = (value) => (Number.isFinite(value) ? value : null);

/** Title, unit, least span from 0 on (0: any), and for each line its name, its class and its value of a state. */
const STRIPS = [
  ["Force", "N", 1, [
    ["hand", "hand", ({ master }) => norm(master.port_force_n)],
    ["robot", "robot", ({ slave }) => (slave.spoken && slave.force_known ? norm(slave.tissue_force_n) : null)],
  ]],
  ["Height above tissue", "mm", 0, [
    ["hand", "hand", ({ master }, touch_m) => (master.position_m[2] - touch_m) * 1e3],
    ["robot", "robot", ({ slave }, touch_m) => (slave.spoken ? (slave.position_m[2] - touch_m) * 1e3 : null)],
  ]],
  ["Delay", "ms", 10, [
    ["to hand", "hand", ({ master }) => known(master.oneway_s * 1e3)],
    ["to robot", "robot", ({ slave }) => (slave.spoken ? known(slave.oneway_s * 1e3) : null)],
    ["bound", "quiet", ({ master }) => known((master.oneway_s + master.bound_s) * 1e3)],
    ["", "quiet", ({ master }) => known((master.oneway_s - master.bound_s) * 1e3)],
  ]],
  ["Energy", "mJ", 1, [
    ["hand", "hand", ({ master }) => sum(master.tank_j) * 1e3],
    ["robot", "robot", ({ slave }) => (slave.spoken ? sum(slave.tank_j) * 1e3 : null)],
    // known only with records of both sides
    ["in transit", "quiet", ({ master, slave }) => !slave.spoken ? null :
      (sum(master.sent_j) - sum(slave.received_j) + sum(slave.sent_j) - sum(master.received_j)) * 1e3],
  ]],
];

export class Strips {
  constructor(root, scene) {
    this.scene = scene;
    this.strips = STRIPS.map(([title, unit, span, lines]) => {
      const box = root.appendChild(document.createElement("div"));
      box.className = "strip";
      const head = box.appendChild(document.createElement("h2"));
      head.append(`${title} [${unit}]`);
      for (const [name, kind] of lines.filter(([name]) => name)) {
        const key = head.appendChild(document.createElement("span"));
        key.className = `key ${kind}`;
        key.textContent = name;
      }
      return { box, span, lines, data: [[], ...lines.map(() => [])], plot: null };
    });
    this.drawn = this.turn = 0;
    new ResizeObserver(() => this.resize()).observe(root);
  }

  /** Builds the plots, again after a change of the page's colours. */
  build() {
    const style = getComputedStyle(document.documentElement);
    const ink = (name) => style.getPropertyValue(name).trim();
    for (const strip of this.strips) {
      strip.plot?.destroy();
      const axis = { stroke: ink("--quiet"), grid: { stroke: ink("--grid"), width: 1 }, ticks: { show: false }, size: 26, font: "11px sans-serif" };
      const options = {
        ...size(strip.box),
        legend: { show: false }, cursor: { show: false }, select: { show: false },
        scales: {
          x: { time: false, range: (_, low, high) => [high - SECONDS, high] },
          y: { range: (_, low, high) => within(strip.span, low, high) },
        },
        axes: [{ ...axis, values: (plot, ticks) => ticks.map((at) => `${Math.round(at - (strip.data[0].at(-1) ?? at))} s`) }, { ...axis, size: 40 }],
        series: [{}, ...strip.lines.map(([, kind]) => ({
          stroke: ink(`--${kind}`), width: kind === "quiet" ? 1 : 1.5, dash: kind === "quiet" ? [4, 3] : undefined, points: { show: false },
        }))],
      };
      strip.plot = new uPlot(options, strip.data, strip.box);
    }
  }

  resize() {
    for (const { plot, box } of this.strips) {
      if (box.clientWidth) plot?.setSize(size(box));
    }
  }

  take(frame) {
    // height of the tool's middle at contact with tissue at rest
    const touch_m = (this.scene.top_m ?? 0) + this.scene.radius_m;
    for (const { lines, data } of this.strips) {
      data[0].push(frame.at_s);
      lines.forEach(([, , of], line) => data[line + 1].push(of(frame, touch_m)));
      if (data[0].length > POINTS) data.forEach((row) => row.splice(0, 60));
    }
  }

  /** Draws one strip per frame, each as often as the frame rate allows; `slow_ms` is the time between two frames. */
  draw(now_ms, slow_ms = 0) {
    const every_ms = Math.max(EVERY_MS, PICTURES * slow_ms) / this.strips.length;
    if (now_ms - this.drawn < every_ms || !this.strips[0].data[0].length) return;
    this.drawn = now_ms;
    if (!this.strips[0].plot) this.build();
    const { plot, data } = this.strips[this.turn++ % this.strips.length];
    plot.setData(data);
  }
}

/** Size of a box without its heading. */
function size(box) {
  const head = box.firstElementChild.offsetHeight;
  return { width: Math.max(80, box.clientWidth - 8), height: Math.max(60, box.clientHeight - head - 8) };
}

function within(span, low, high) {
  if (low === null || high === null) return [0, span || 1];
  if (span) [low, high] = [Math.min(0, low), Math.max(span, 1.1 * high)];
  // a least span, so that noise of a resting line does not fill the strip
  const room = Math.max(0.05 * (high - low), 0.5 * (LEAST_SPAN - (high - low)));
  return span ? [low, high] : [low - room, high + room];
}
