// Format of frames to and from the server, byte by byte; the layout is in launch/session/src/monitor/wire.rs.

const MAGIC = 0x43504c50; // "PLPC", little-endian
const VERSION = 3;
const HEADER = 32;
const FIELDS = 72;
const AIM = 16;

/** Index of each quantity among the numbers of a side. */
const AT = {
  spoken: 0, tick: 1, now_s: 2, late: 3, state: 4, peer: 5, events: 6, phase: 7,
  position_m: 8, velocity_mps: 12, port_position_m: 16, port_force_n: 20, tissue_force_n: 24,
  tank_j: 28, sent_j: 32, received_j: 36, intended_m: 40,
  tissue_j: 44, update_j: 45, corrected: 46, confidence: 47, twin_share: 48,
  age_s: 49, oneway_s: 50, bound_s: 51, rtt_s: 52, received: 53, compute_us: 54,
  impedance_nspm: 55, mode: 56, pointer_age_s: 57, pointer_hz: 58, said_ms: 59, force_known: 60, ordered: 61,
  links_cut: 62, parked_m: 63, parked_n: 67, twin_height_m: 71,
};
const FOURS = new Set(["position_m", "velocity_mps", "port_position_m", "port_force_n", "tissue_force_n",
  "tank_j", "sent_j", "received_j", "intended_m",
  "parked_m", "parked_n"]);

function side(view, from) {
  const number = (index) => view.getFloat64(from + 8 * index, true);
  const all = {};
  for (const [name, at] of Object.entries(AT)) {
    all[name] = FOURS.has(name) ? [0, 1, 2, 3].map((axis) => number(at + axis)) : number(at);
  }
  return all;
}

/** Reads a frame of the server; null for another layout. */
export function read(buffer) {
  const view = new DataView(buffer);
  if (buffer.byteLength < HEADER || view.getUint32(0, true) !== MAGIC || view.getUint16(4, true) !== VERSION) return null;
  const frame = {
    kind: view.getUint8(6), place: view.getUint8(7), number: view.getUint32(8, true), nodes: view.getUint32(12, true),
    faces: view.getUint32(16, true), revision: view.getUint32(20, true), at_s: view.getFloat64(24, true),
  };
  if (frame.kind === 1) {
    frame.kind = "state";
    frame.master = side(view, HEADER);
    frame.slave = side(view, HEADER + 8 * FIELDS);
  } else if (frame.kind === 2) {
    frame.kind = "surface";
    frame.positions_m = new Float32Array(buffer, HEADER, 3 * frame.nodes);
  } else if (frame.kind === 3) {
    frame.kind = "mesh";
    frame.rest_m = new Float32Array(buffer, HEADER, 3 * frame.nodes);
    frame.triangles = new Uint32Array(buffer, HEADER + 12 * frame.nodes, 3 * frame.faces);
  } else return null;
  return frame;
}

/** Encodes the pointer target of the operator. */
export function aim(number, { position_m, present, closed }) {
  const bytes = new ArrayBuffer(56);
  const view = new DataView(bytes);
  view.setUint32(0, MAGIC, true);
  view.setUint16(4, VERSION, true);
  view.setUint16(6, AIM, true);
  view.setUint32(8, number, true);
  view.setUint32(12, (present ? 1 : 0) | (closed ? 2 : 0), true);
  view.setFloat64(16, performance.now(), true);
  position_m.forEach((place, axis) => view.setFloat64(24 + 8 * axis, place, true));
  return bytes;
}

export const STATES = ["disabled", "enabled", "paused", "fault"];
export const STALE = 1 << 5;
export const TISSUE_COLLAPSED = 1 << 14;
