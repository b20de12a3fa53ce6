// Marks of a task on the tissue: places and lines of the question, and the truth after the answer.

import * as THREE from "./vendor/three.module.min.js";

const LETTERS = ["A", "B", "C", "D", "E"];
const ABOVE_M = 0.0006;

function onTop(color) {
  return { color, depthTest: false, transparent: true };
}

export class Marks {
  constructor(scene) {
    this.scene = scene;
    this.group = new THREE.Group();
    scene.body.add(this.group);
  }

  /** Shows a task, or nothing. */
  show(task) {
    this.group.traverse((part) => {
      part.geometry?.dispose();
      part.material?.map?.dispose();
      part.material?.dispose();
    });
    this.group.clear();
    const z = (this.scene.rest_top_m ?? 0) + ABOVE_M;
    task?.sites_m?.forEach((site, index) => {
      this.ring(site, 0.004, 0x16202c, z);
      this.letter(site, LETTERS[index], z);
    });
    if (task?.line_m) this.line(task.line_m, z);
    for (const { center_m, radius_m } of task?.lumps ?? []) this.ring(center_m, radius_m, 0xb3141c, z);
    this.group.traverse((part) => (part.renderOrder = 8));
    this.scene.dirty = true;
  }

  ring([x, y], radius_m, color, z) {
    const ring = new THREE.Mesh(new THREE.RingGeometry(radius_m - 0.0006, radius_m, 48), new THREE.MeshBasicMaterial({ ...onTop(color), side: THREE.DoubleSide }));
    ring.position.set(x, y, z);
    this.group.add(ring);
  }

  letter([x, y], text, z) {
    const canvas = Object.assign(document.createElement("canvas"), { width: 64, height: 64 });
    const draw = canvas.getContext("2d");
    Object.assign(draw, { font: "bold 52px system-ui, sans-serif", textAlign: "center", textBaseline: "middle", lineWidth: 8, strokeStyle: "#fff", fillStyle: "#16202c" });
    draw.strokeText(text, 32, 34);
    draw.fillText(text, 32, 34);
    const sprite = new THREE.Sprite(new THREE.SpriteMaterial({ map: new THREE.CanvasTexture(canvas), depthTest: false }));
    sprite.position.set(x, y - 0.009, z);
    sprite.scale.setScalar(0.008);
    this.group.add(sprite);
  }

  line([from, to], z) {
    const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
    const bar = new THREE.Mesh(new THREE.PlaneGeometry(Math.hypot(dx, dy), 0.0012), new THREE.MeshBasicMaterial({ ...onTop(0x16202c), side: THREE.DoubleSide }));
    bar.position.set((from[0] + to[0]) / 2, (from[1] + to[1]) / 2, z);
    bar.rotation.z = Math.atan2(dy, dx);
    this.group.add(bar);
    for (const [[x, y], color] of [[from, 0x1b8a3a], [to, 0xb3141c]]) {
      const dot = new THREE.Mesh(new THREE.CircleGeometry(0.0024, 32), new THREE.MeshBasicMaterial({ ...onTop(color), side: THREE.DoubleSide }));
      dot.position.set(x, y, z);
      this.group.add(dot);
    }
  }
}
