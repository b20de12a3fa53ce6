// Appearance of a tool: its shape in contact, and its instrument.

import * as THREE from "./vendor/three.module.min.js";

const STEEL = 0x8fa3b8;
const BRIGHT = 0xdfe5ea;
const EDGE = 0xffb000;
const SKIN = 0xd9a184;
const RUBBER = 0x39424d;
// reach of a scalpel's edge and of the nozzle of glue, in radii of the tool, as in
// launch/console/src/rehearsal/tool_changer.rs
const REACH = 1.5;
const PLATE_M = 0.0006;
// inclination towards the person, as held by a hand in front of the screen
const LEAN = 0.5;
// least speed at which a blade turns to its heading, and share of the turn per frame
const TURNS_MPS = 0.004;
const TURN = 0.25;

/** A ball, extended along each edge [m] to a rod or a flat box with round edges. */
export function swept(radius_m, edges_m, wide = 32, high = 20) {
  const ball = new THREE.SphereGeometry(radius_m, wide, high);
  const places = ball.attributes.position;
  const at = new THREE.Vector3();
  for (let vertex = 0; vertex < places.count; vertex++) {
    at.fromBufferAttribute(places, vertex);
    const moved = at.clone();
    for (const edge of edges_m.map((xyz) => new THREE.Vector3(...xyz))) {
      // the ball is split on one side of its middle
      if (edge.lengthSq() > 0) moved.addScaledVector(edge, at.dot(edge) > -1e-9 ? 0.5 : -0.5);
    }
    places.setXYZ(vertex, ...moved);
  }
  return ball;
}

function solid(color, opacity = 1) {
  return new THREE.MeshLambertMaterial({ color, transparent: opacity < 1, opacity, depthWrite: opacity === 1, side: THREE.DoubleSide });
}

/** A round bar along z from one height to another [m], with a radius at each end. */
function bar([from_m, to_m], [low_m, high_m], color, opacity) {
  const geometry = new THREE.CylinderGeometry(high_m, low_m, to_m - from_m, 20);
  geometry.rotateX(Math.PI / 2).translate(0, 0, 0.5 * (from_m + to_m));
  return new THREE.Mesh(geometry, solid(color, opacity));
}

/** A ball, stretched along its axes. */
function ball(radius_m, [x, y, z], [wide, deep, high], color, opacity) {
  const one = new THREE.Mesh(new THREE.SphereGeometry(radius_m, 28, 18), solid(color, opacity));
  one.position.set(x, y, z);
  one.scale.set(wide, deep, high);
  return one;
}

/** A plate of an outline in x and z [m]. */
function plate(outline, thick_m, color) {
  const shape = new THREE.Shape(outline.map(([x, z]) => new THREE.Vector2(x, z)));
  const geometry = new THREE.ExtrudeGeometry(shape, { depth: thick_m, bevelEnabled: false });
  geometry.rotateX(Math.PI / 2).translate(0, 0.5 * thick_m, 0);
  return new THREE.Mesh(geometry, solid(color));
}

/** Parts that are inclined together towards the person. */
function leaning(...parts) {
  const group = new THREE.Group();
  group.add(...parts);
  group.rotation.x = LEAN;
  return group;
}

/** A handle that begins at this height above the tool's position [m]. */
function handle(from_m = 0) {
  return leaning(bar([from_m, 0.06], [0.0022, 0.0022], STEEL, 0.8));
}

/** Two legs from a joint above, turned by the opening of their tips. */
function legs(radius_m) {
  const [tip_m, joint_m] = [-0.9 * radius_m, 0.062];
  const long_m = joint_m - tip_m;
  const turning = [1, -1].map((side) => {
    const leg = new THREE.Group();
    // bowed outwards, and flat inside at the tip
    const bow = plate([[0, 0], [side * 0.004, -0.4 * long_m], [side * 0.0012, -long_m], [0, -long_m], [side * 0.002, -0.4 * long_m]], 0.005, BRIGHT);
    const pad = plate([[0, -long_m + 0.012], [side * 0.0008, -long_m + 0.012], [side * 0.0008, -long_m], [0, -long_m]], 0.0052, RUBBER);
    leg.add(bow, pad);
    leg.position.z = joint_m;
    return leg;
  });
  const joint = ball(0.0032, [0, 0, joint_m], [1, 1, 1], STEEL);
  const follow = (opening_m) => turning.forEach((leg, nth) => (leg.rotation.y = (nth ? 1 : -1) * Math.asin(Math.min(1, Math.max(0, opening_m) / 2 / long_m))));
  return { parts: [...turning, joint], follow };
}

/** A blade whose edge is the line from the tool's position down; its edge turns to its heading, with its handle behind. */
function blade(radius_m) {
  const long_m = REACH * radius_m;
  const wide_m = 0.6 * long_m;
  const group = new THREE.Group();
  const steel = plate([[0, -long_m], [0, 0.1 * long_m], [-0.25 * wide_m, 0.35 * long_m], [-wide_m, 0.35 * long_m], [-wide_m, -0.35 * long_m]], PLATE_M, BRIGHT);
  const edge = bar([-long_m, 0], [0.9 * PLATE_M, 0.9 * PLATE_M], EDGE);
  // visible through tissue, because its depth matters
  edge.material = new THREE.MeshBasicMaterial({ color: EDGE, depthTest: false, transparent: true });
  const grip = plate([[-0.2 * wide_m, 0.25 * long_m], [-0.8 * wide_m, 0.25 * long_m], [-0.8 * wide_m - 0.022, 0.06], [-0.2 * wide_m - 0.022, 0.06]], 0.0028, STEEL);
  group.add(steel, grip, edge);
  let heading = 0;
  const turn = ([vx, vy]) => {
    if (Math.hypot(vx, vy) > TURNS_MPS) {
      const off = Math.atan2(vy, vx) - heading;
      heading += TURN * Math.atan2(Math.sin(off), Math.cos(off));
    }
    group.rotation.z = heading;
  };
  return { parts: [group], turn };
}

/** Parts of an instrument about its position; `follow` applies the opening of its jaws [m], `turn` its velocity [m/s]. */
const PARTS = {
  fingertip: (radius_m) => ({
    parts: [leaning(bar([0, 0.045], [0.98 * radius_m, 0.86 * radius_m], SKIN, 0.72))],
  }),
  stylus: (radius_m) => ({
    parts: [leaning(bar([0, 0.014], [0.3 * radius_m, 0.0028], STEEL), bar([0.014, 0.07], [0.0028, 0.0028], RUBBER))],
  }),
  scalpel: blade,
  tweezers: legs,
  // a spoon with a sharp rim
  curette: (radius_m) => {
    const bowl = new THREE.Mesh(new THREE.SphereGeometry(0.97 * radius_m, 32, 12, 0, 2 * Math.PI, Math.PI / 2, Math.PI / 2).rotateX(Math.PI / 2), solid(BRIGHT, 0.8));
    const rim = new THREE.Mesh(new THREE.TorusGeometry(0.97 * radius_m, PLATE_M, 8, 48), solid(EDGE));
    const neck = bar([0, 0.07], [0.0013, 0.0024], STEEL);
    neck.position.y = -0.97 * radius_m;
    neck.rotation.x = LEAN;
    return { parts: [bowl, rim, neck] };
  },
  glue: (radius_m) => ({
    parts: [bar([-REACH * radius_m, 0], [0.0006, 0.0026], EDGE), leaning(bar([0, 0.05], [0.0034, 0.0034], BRIGHT, 0.9))],
  }),
  tack: (radius_m) => ({ parts: [bar([-radius_m, 0.012], [0.0003, 0.0011], BRIGHT), ball(0.0042, [0, 0, 0.012], [1, 1, 0.45], EDGE)] }),
  untack: (radius_m) => {
    const tines = [1, -1].map((side) => bar([-radius_m, 0.01], [0.0005, 0.001], BRIGHT).translateX(side * 0.0022));
    return { parts: [...tines, bar([0.01, 0.06], [0.0032, 0.0026], RUBBER)] };
  },
};

/** A tool that can be drawn: its shape in a colour, and its instrument. */
export class Tool {
  constructor({ radius_m, edges_m = [], kind = "", color = 0x3a7bd5, opacity = 0.55 }) {
    this.group = new THREE.Group();
    const { parts, follow, turn } = PARTS[kind]?.(radius_m) ?? { parts: [handle(0.5 * radius_m)] };
    Object.assign(this, { follow: follow ?? (() => {}), turn: turn ?? (() => {}) });
    // an instrument presses with its ball only while it is inactive
    const seen = { fingertip: 0.6, stylus: 1 }[kind] ?? (kind in PARTS ? 0.25 : 1);
    this.ball = new THREE.Mesh(swept(radius_m, edges_m), solid(color, seen * opacity));
    this.group.add(...parts, this.ball);
    this.group.traverse((part) => part.material?.transparent && (part.renderOrder = 1));
    this.ball.renderOrder = 2;
  }

  /** Sets its position, its opening [m] and its velocity, if it moves [m/s]. */
  place([x, y, z, opening_m], velocity_mps = [0, 0]) {
    this.group.position.set(x, y, z);
    this.follow(opening_m);
    this.turn(velocity_mps);
  }
}
