// What a tool looks like: its shape as the tissue feels it, and the instrument that it is.

import * as THREE from "./vendor/three.module.min.js";

const STEEL = 0x8fa3b8;
const BLADE_M = 0.0008;
const PRONG_M = 0.0014;
// how far a scalpel's edge reaches, in radii of the tool, as launch/src/rehearsal/wield.rs has it
const REACH = 1.5;

/** A ball; its halves moved apart along each edge [m] make a rod or a flat box with round edges of it. */
export function swept(radius_m, edges_m, wide = 32, high = 20) {
  const ball = new THREE.SphereGeometry(radius_m, wide, high);
  const places = ball.attributes.position;
  const at = new THREE.Vector3();
  for (let vertex = 0; vertex < places.count; vertex++) {
    at.fromBufferAttribute(places, vertex);
    const moved = at.clone();
    for (const edge of edges_m.map((xyz) => new THREE.Vector3(...xyz))) {
      // the seam of the ball is on one side of it
      if (edge.lengthSq() > 0) moved.addScaledVector(edge, at.dot(edge) > -1e-9 ? 0.5 : -0.5);
    }
    places.setXYZ(vertex, ...moved);
  }
  return ball;
}

function solid(color, opacity = 1) {
  return new THREE.MeshLambertMaterial({ color, transparent: opacity < 1, opacity, depthWrite: opacity === 1 });
}

function held() {
  const shaft = new THREE.Mesh(new THREE.CylinderGeometry(0.0022, 0.0022, 0.06, 12), solid(STEEL, 0.8));
  shaft.rotation.x = Math.PI / 2;
  shaft.position.z = 0.03;
  return shaft;
}

/** Parts of an instrument about its place; `follow` sets what depends on the opening of the jaws [m]. */
const PARTS = {
  scalpel: (radius_m) => {
    const long_m = REACH * radius_m;
    // the edge is the line from the middle down
    const blade = new THREE.Mesh(new THREE.BoxGeometry(BLADE_M, 4 * BLADE_M, long_m), solid(0xd7dde3));
    blade.position.z = -long_m / 2;
    return { parts: [blade] };
  },
  curette: (radius_m) => ({ parts: [new THREE.Mesh(new THREE.TorusGeometry(0.97 * radius_m, BLADE_M, 8, 40), solid(0xd7dde3))] }),
  tweezers: (radius_m) => {
    const prong = new THREE.CylinderGeometry(0.6 * PRONG_M, PRONG_M, 0.06, 10);
    const prongs = [1, -1].map(() => new THREE.Mesh(prong, solid(0xd7dde3)));
    for (const one of prongs) {
      one.rotation.x = -Math.PI / 2;
      one.position.z = 0.03 - 0.6 * radius_m;
    }
    const follow = (opening_m) => prongs.forEach((one, nth) => (one.position.x = (nth ? -1 : 1) * (Math.max(0, opening_m) / 2 + PRONG_M)));
    return { parts: prongs, follow };
  },
};

/** A tool that can be drawn: its shape in a colour, its instrument and the shaft that it is held by. */
export class Tool {
  constructor({ radius_m, edges_m = [], kind = "", color = 0x3a7bd5, opacity = 0.55 }) {
    this.group = new THREE.Group();
    const { parts, follow } = PARTS[kind]?.(radius_m) ?? { parts: [] };
    this.follow = follow ?? (() => {});
    // what works as an instrument presses with its ball only while it does not
    this.ball = new THREE.Mesh(swept(radius_m, edges_m), solid(color, parts.length ? 0.5 * opacity : opacity));
    this.group.add(this.ball, ...parts);
    // tweezers are held by their legs
    if (kind !== "tweezers") this.group.add(held());
  }

  place([x, y, z, opening_m]) {
    this.group.position.set(x, y, z);
    this.follow(opening_m);
  }
}
