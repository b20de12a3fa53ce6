// How the scene is looked at, beside the camera: light, colour, texture, smoothness, nodes, home links, two eyes
// (S4-48 to S4-53). Nothing here reaches the session.

import * as THREE from "./vendor/three.module.min.js";

const at = (id) => document.getElementById(id);
const TEXELS = 128;

/** A skin of pores and fine folds, made of seeded noise: the same on every machine. */
function pores() {
  const texels = new Uint8Array(4 * TEXELS * TEXELS);
  let seed = 7;
  const chance = () => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32;
  const grid = Array.from({ length: 3 }, (_, octave) => Array.from({ length: (8 << octave) ** 2 }, chance));
  const noise = (octave, x, y) => {
    const size = 8 << octave;
    const [u, v] = [(x * size) / TEXELS, (y * size) / TEXELS];
    const [i, j, s, t] = [Math.floor(u), Math.floor(v), u % 1, v % 1];
    const value = (a, b) => grid[octave][((j + b) % size) * size + ((i + a) % size)];
    return (value(0, 0) * (1 - s) + value(1, 0) * s) * (1 - t) + (value(0, 1) * (1 - s) + value(1, 1) * s) * t;
  };
  for (let y = 0, to = 0; y < TEXELS; y++) {
    for (let x = 0; x < TEXELS; x++, to += 4) {
      const value = 0.5 * noise(0, x, y) + 0.3 * noise(1, x, y) + 0.2 * noise(2, x, y);
      texels.fill(140 + 110 * value, to, to + 3);
      texels[to + 3] = 255;
    }
  }
  const texture = new THREE.DataTexture(texels, TEXELS, TEXELS);
  texture.wrapS = texture.wrapT = THREE.RepeatWrapping;
  texture.magFilter = THREE.LinearFilter;
  texture.minFilter = THREE.LinearMipmapLinearFilter;
  texture.generateMipmaps = true;
  texture.needsUpdate = true;
  return texture;
}

export class Viewer {
  constructor(scene) {
    this.scene = scene;
    scene.viewer = this;
    scene.uniforms.pores.value = pores();
    this.eyes = new THREE.StereoCamera();
    this.eye_m = 0;
    this.sun(at("sun-turn").value, at("sun-lift").value);
    const on = (id, kind, act) => at(id)?.addEventListener(kind, ({ target }) => {
      act(target);
      scene.dirty = true;
    });
    on("drawn", "change", ({ value }) => this.drawn(value));
    on("tint", "input", ({ value }) => this.tint(value));
    for (const id of ["sun-turn", "sun-lift"]) on(id, "input", () => this.sun(at("sun-turn").value, at("sun-lift").value));
    on("texture", "change", ({ checked }) => (scene.uniforms.textured.value = checked ? 1 : 0));
    on("smooth", "change", ({ checked }) => scene.refine(checked));
    on("homes", "change", ({ checked }) => this.homes(checked));
    on("stereo", "change", ({ checked }) => this.stereo(checked ? Number(at("eyes").value) : 0));
    on("eyes", "input", ({ value }) => {
      at("eyes-value").textContent = `${value} mm`;
      if (at("stereo").checked) this.stereo(Number(value));
    });
  }

  /** `shaded`, `wires` or `nodes`. */
  drawn(kind) {
    this.kind = kind;
    const { material, body, tissue } = this.scene;
    if (!tissue) return;
    material.wireframe = kind === "wires";
    tissue.visible = kind !== "nodes";
    this.points?.removeFromParent();
    this.points?.material.dispose();
    this.points = null;
    if (kind !== "nodes") return;
    const look = new THREE.PointsMaterial({ size: 3, sizeAttenuation: false, vertexColors: true });
    this.points = new THREE.Points(tissue.geometry, look);
    this.points.frustumCulled = false;
    body.add(this.points);
  }

  tint(color) {
    this.scene.material?.color.set(color);
    this.color = color;
  }

  /** Where the light comes from: round about and above [degrees]. */
  sun(turn, lift) {
    const [a, b] = [turn, lift].map((degrees) => (degrees * Math.PI) / 180);
    this.scene.sun.position.set(Math.cos(b) * Math.sin(a), Math.cos(b) * Math.cos(a), Math.sin(b));
  }

  /** What is hidden otherwise: where each node is at rest, and the link to where it is now. */
  homes(on) {
    this.links?.removeFromParent();
    this.links?.traverse(({ geometry, material }) => [geometry, material].forEach((part) => part.dispose()));
    this.links = null;
    const { rest_m, body } = this.scene;
    if (!on || !rest_m) return;
    const geometry = new THREE.BufferGeometry();
    this.ends = new THREE.BufferAttribute(new Float32Array(2 * rest_m.length), 3).setUsage(THREE.DynamicDrawUsage);
    geometry.setAttribute("position", this.ends);
    const look = { color: 0xe0308a, depthTest: false, transparent: true };
    this.links = new THREE.LineSegments(geometry, new THREE.LineBasicMaterial(look));
    this.links.frustumCulled = false;
    const rest = new THREE.BufferGeometry().setAttribute("position", new THREE.BufferAttribute(rest_m, 3));
    const points = new THREE.Points(rest, new THREE.PointsMaterial({ ...look, size: 2, sizeAttenuation: false }));
    points.frustumCulled = false;
    this.links.add(points);
    body.add(this.links);
    this.moved();
  }

  /** The nodes are elsewhere now. */
  moved() {
    if (!this.links) return;
    const [rest, now, ends] = [this.scene.rest_m, this.scene.positions.array, this.ends.array];
    for (let node = 0; node < rest.length; node += 3) {
      for (let axis = 0; axis < 3; axis++) {
        ends[2 * node + axis] = rest[node + axis];
        ends[2 * node + 3 + axis] = now[node + axis];
      }
    }
    this.ends.needsUpdate = true;
  }

  /** Another mesh: what is drawn of it is made anew. */
  mesh() {
    if (this.color) this.tint(this.color);
    this.drawn(this.kind ?? "shaded");
    this.homes(at("homes")?.checked);
  }

  /** Two eyes so far apart [mm], left and right of each other on the screen; 0 is one eye, and less is crossed. */
  stereo(apart_mm) {
    this.eye_m = apart_mm / 1000;
    document.body.dataset.stereo = String(Boolean(apart_mm));
    this.scene.resize();
  }

  /** The cameras of the eyes; what the target shows is at the same place of both. */
  look() {
    const { camera, look, canvas } = this.scene;
    Object.assign(this.eyes, { eyeSep: this.eye_m, aspect: 0.5 });
    camera.focus = look.far_m;
    camera.aspect = canvas.clientWidth / canvas.clientHeight || 1;
    camera.updateProjectionMatrix();
    camera.updateMatrixWorld();
    this.eyes.update(camera);
    return [this.eyes.cameraL, this.eyes.cameraR];
  }

  draw() {
    const { renderer, scene, camera, canvas } = this.scene;
    const size = renderer.getSize(new THREE.Vector2());
    if (!this.eye_m) {
      renderer.setScissorTest(false);
      renderer.setViewport(0, 0, size.x, size.y);
      return renderer.render(scene, camera);
    }
    renderer.setScissorTest(true);
    this.look().forEach((eye, right) => {
      const left = right * (size.x / 2);
      renderer.setViewport(left, 0, size.x / 2, size.y);
      renderer.setScissor(left, 0, size.x / 2, size.y);
      renderer.render(scene, eye);
    });
  }

  /** The eye that sees a point of the canvas [px], and where that is in its view (-1 to 1). */
  under(x, y, box) {
    const [u, v] = [(x - box.left) / box.width, (y - box.top) / box.height];
    if (!this.eye_m) return [this.scene.camera, 2 * u - 1, 1 - 2 * v];
    const right = u >= 0.5 ? 1 : 0;
    return [this.look()[right], 2 * (2 * u - right) - 1, 1 - 2 * v];
  }

  /** Where a place [m] is on the screen [px], for the left or the right eye. */
  onScreen(place, right = 0) {
    const box = this.scene.canvas.getBoundingClientRect();
    const eye = this.eye_m ? this.look()[right] : this.scene.camera;
    const seen = new THREE.Vector3(...place).project(eye);
    const share = this.eye_m ? ((seen.x + 1) / 2 + right) / 2 : (seen.x + 1) / 2;
    return [box.left + share * box.width, box.top + ((1 - seen.y) / 2) * box.height];
  }
}
