// Map of stiffness, and of the twin's confirmation, painted on the surface during palpation.

const REACH_M = 0.008;
const FORCE_N_MIN = 0.15;
const DEPTH_M_MIN = 0.0015;
const SLOW_MPS = 0.06;
/** Ends of the scales with fixed ends, and the least value that is painted. */
const FIXED = {
  depth: { ends: [0, 0.006], least: 0.0002, words: { low: "0 mm", high: "6 mm", name: "indentation depth" } },
  confidence: { ends: [0, 1], least: 0.01, words: { low: "believed", high: "confirmed", name: "twin, by the robot's presses" } },
};
const BASE = [0.86, 0.69, 0.62];

// viridis at nine places: uniform in lightness, and distinguishable with colour blindness
const VIRIDIS = [
  [0.267, 0.005, 0.329], [0.283, 0.141, 0.458], [0.254, 0.265, 0.53], [0.207, 0.372, 0.553], [0.164, 0.471, 0.558],
  [0.128, 0.567, 0.551], [0.135, 0.659, 0.518], [0.478, 0.821, 0.318], [0.993, 0.906, 0.144],
];

export function color(share) {
  const at = Math.min(0.9999, Math.max(0, share)) * (VIRIDIS.length - 1);
  const [low, part] = [Math.floor(at), at % 1];
  return VIRIDIS[low].map((from, axis) => from + part * (VIRIDIS[low + 1][axis] - from));
}

// converts screen colours to the linear space of lighting
const linear = (value) => Math.pow(value, 2.2);
const PLAIN = BASE.map(linear);
const SHADES = 256;
const INKS = Float32Array.from({ length: 3 * SHADES }, (_, at) => linear(color(Math.floor(at / 3) / (SHADES - 1))[at % 3]));

export class StiffnessMap {
  constructor(scene) {
    this.scene = scene;
    this.kind = "robot";
    // the map would show the answer of some tasks
    this.hidden = false;
    this.clear();
  }

  clear() {
    const nodes = (this.scene.rest_m?.length ?? 0) / 3;
    this.maps = {};
    for (const kind of ["robot", "hand"]) {
      this.maps[kind] = { stiffness: new Float32Array(nodes), depth: new Float32Array(nodes), low: Infinity, high: 0 };
    }
    this.confidence = new Float32Array(nodes);
    this.values = new Float32Array(nodes);
    this.stale = true;
  }

  /** Adds the present contact of both sides. */
  take({ master, slave }) {
    if (!this.scene.rest_m) return;
    this.confirm(master);
    this.touch("hand", master.position_m, master.velocity_mps, -master.port_force_n[2]);
    if (slave.spoken === 1 && slave.force_known === 1) {
      this.touch("robot", slave.position_m, slave.velocity_mps, slave.tissue_force_n[2]);
    }
  }

  /** Takes the confidence under the hand, which is known in air as well. A twin that was moved is believed only. */
  confirm({ position_m: [x, y], confidence: exact, twin_height_m }) {
    const { rest_m } = this.scene;
    const confidence = Math.fround(exact) || 0;
    if (this.height_m !== twin_height_m) {
      this.height_m = twin_height_m;
      this.confidence.fill(0);
    }
    for (let node = 0, at = 0; node < this.confidence.length; node++, at += 3) {
      if (Math.hypot(rest_m[at] - x, rest_m[at + 1] - y) > REACH_M || this.confidence[node] === confidence) continue;
      this.confidence[node] = confidence;
      this.stale ||= this.kind === "confidence";
    }
  }

  // The secant of the deepest slow press at a place, assigned to the nodes around it.
  touch(kind, [x, y, z], velocity, force_n) {
    const depth = this.scene.top_m + this.scene.radius_m - z;
    const speed = Math.hypot(velocity[0], velocity[1], velocity[2]);
    if (force_n < FORCE_N_MIN || depth < DEPTH_M_MIN || speed > SLOW_MPS) return;
    const map = this.maps[kind];
    const rest = this.scene.rest_m;
    const low_m = this.scene.rest_top_m - 0.001;
    for (let node = 0, at = 0; node < map.depth.length; node++, at += 3) {
      const [u, v] = [rest[at] - x, rest[at + 1] - y];
      const square = u * u + v * v;
      if (square > REACH_M * REACH_M || rest[at + 2] < low_m) continue;
      const weight = depth * (1 - 0.5 * (Math.sqrt(square) / REACH_M));
      if (weight < map.depth[node]) continue;
      map.depth[node] = weight;
      map.stiffness[node] = force_n / depth;
      this.stale = true;
    }
  }

  /** Paints the surface; returns the ends of the scale and its name, null without colours. */
  paint() {
    const { rest_m, colors, positions } = this.scene;
    if (!rest_m) return null;
    const kind = this.hidden && this.kind !== "depth" ? "none" : this.kind;
    const fixed = FIXED[kind];
    this.stale ||= kind !== this.shown;
    this.shown = kind;
    const sunk = kind === "depth" && this.moves !== this.scene.moves;
    if (!this.stale && !sunk) return this.words;
    this.stale = false;
    this.moves = this.scene.moves;
    const out = colors.array;
    const nodes = rest_m.length / 3;
    const values = this.values.fill(0);
    if (kind === "depth") {
      for (let node = 0; node < nodes; node++) values[node] = Math.max(0, rest_m[3 * node + 2] - positions.array[3 * node + 2]);
    } else if (kind !== "none") {
      values.set(fixed ? this[kind] : this.maps[kind].stiffness);
    }
    let [low, high] = fixed?.ends ?? [Infinity, 0];
    if (!fixed) {
      for (const value of values) if (value > 0) [low, high] = [Math.min(low, value), Math.max(high, value)];
      // one touch gives no range
      if (high < 1.5 * low) [low, high] = [low / 1.25, low * 1.25 + (high - low)];
    }
    for (let node = 0; node < nodes; node++) {
      const touched = values[node] > (fixed?.least ?? 0);
      const share = touched ? Math.min(1, Math.max(0, (values[node] - low) / (high - low))) : 0;
      const [inks, from] = touched ? [INKS, 3 * Math.round((SHADES - 1) * share)] : [PLAIN, 0];
      for (let axis = 0; axis < 3; axis++) out[3 * node + axis] = inks[from + axis];
    }
    this.scene.painted();
    if (kind === "none" || !(high > 0)) return (this.words = null);
    return (this.words = fixed?.words
      ?? { low: `${low.toFixed(0)} N/m`, high: `${high.toFixed(0)} N/m`,
        name: kind === "robot" ? "stiffness at the robot" : "stiffness at the hand" });
  }
}
