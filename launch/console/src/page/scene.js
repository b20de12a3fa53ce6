// The 3-D view: the twin's surface as it deforms, the tool and its aim, the remote probe, the force.

import { FACES_MAX, Smooth, normals } from "./smooth.js";
import { Tool, swept } from "./tool.js";
import * as THREE from "./vendor/three.module.min.js";

const ARROW_M_PER_N = 0.012;
const DIAMOND_M = 0.0016;
const TARGET = new THREE.Vector3(0, 0, -0.004);
// what moves less than this is where it was [m, N]
const SAME = 1e-5;
const SAME_M = 2e-6;
// time between pictures beyond which they get coarser, and below which finer [ms]
const SLOW_MS = 38;
const QUICK_MS = 20;
const COARSEST = 0.5;
const STILL_MS = 400;

/** Whether the processor draws: smooth edges would be most of its work there. */
function onProcessor() {
  const gl = document.createElement("canvas").getContext("webgl2");
  const told = gl?.getExtension("WEBGL_debug_renderer_info");
  const name = told ? gl.getParameter(told.UNMASKED_RENDERER_WEBGL) : "";
  gl?.getExtension("WEBGL_lose_context")?.loseContext();
  return /swiftshader|llvmpipe|software|basic render/i.test(name);
}

/** The tissue's skin: lit, coloured by node, textured if it is asked for, with a grid of 10 mm that goes with it. */
function skin(uniforms) {
  const material = new THREE.MeshLambertMaterial({ vertexColors: true, side: THREE.DoubleSide });
  material.onBeforeCompile = (shader) => {
    Object.assign(shader.uniforms, uniforms);
    shader.vertexShader = shader.vertexShader
      .replace("#include <common>", "#include <common>\nattribute vec3 rest;\nvarying vec2 vRest;")
      .replace("#include <begin_vertex>", "#include <begin_vertex>\nvRest = 100.0 * rest.xy;");
    shader.fragmentShader = shader.fragmentShader
      .replace("#include <common>", "#include <common>\nvarying vec2 vRest;\nuniform sampler2D pores;\nuniform float textured;")
      .replace("#include <color_fragment>", `#include <color_fragment>
        if (textured > 0.5) diffuseColor.rgb *= 1.25 * texture2D(pores, 0.5 * vRest).rgb;
        // no lines along a wall on which a coordinate stays the same
        vec2 wide = fwidth(vRest);
        vec2 off = mix(abs(fract(vRest - 0.5) - 0.5) / wide, vec2(1.0), lessThan(wide, vec2(1e-4)));
        diffuseColor.rgb *= 1.0 - 0.28 * (1.0 - min(min(off.x, off.y), 1.0));`);
  };
  return material;
}

export class Scene {
  constructor(canvas) {
    this.canvas = canvas;
    const slow = onProcessor();
    this.renderer = new THREE.WebGLRenderer({ canvas, antialias: !slow });
    this.finest = slow ? 2 : Math.min(devicePixelRatio, 2);
    this.ratio = Math.min(devicePixelRatio, this.finest);
    this.renderer.setPixelRatio(this.ratio);
    this.scene = new THREE.Scene();
    // what rises and sinks with the tissue
    this.body = new THREE.Group();
    this.scene.add(this.body);
    this.camera = new THREE.PerspectiveCamera(36, 1, 0.005, 3);
    this.camera.up.set(0, 0, 1);
    this.target = TARGET.clone();
    this.uniforms = { pores: { value: null }, textured: { value: 0 } };
    this.light();
    this.props({ radius_m: 0.008 });
    this.reset();
    this.ray = new THREE.Raycaster();
    this.revision = this.moves = 0;
    new ResizeObserver(() => this.resize()).observe(canvas.parentElement);
    this.resize();
  }

  light() {
    this.scene.add(new THREE.HemisphereLight(0xffffff, 0x9a908a, 2.0));
    const sun = (this.sun = new THREE.DirectionalLight(0xffffff, 2.6));
    // low from the side, so that a dent is seen by its shade
    sun.position.set(-0.5, 0.35, 0.45);
    this.scene.add(sun);
  }

  /** What is not tissue: the tool in hand and the one put down, aim, probe, arrows. */
  props({ radius_m, edges_m = [], kind = "", other = kind }) {
    this.tools?.removeFromParent();
    this.told = null;
    const tools = (this.tools = new THREE.Group());
    this.tool = new Tool({ radius_m, edges_m, kind });
    this.parked = new Tool({ radius_m, edges_m, kind: other, color: 0x8450b8 });
    const faint = new THREE.MeshLambertMaterial({ color: 0x6cb0ff, transparent: true, opacity: 0.25, depthWrite: false });
    this.aim = new THREE.Mesh(swept(radius_m, edges_m), faint);
    const cage = swept(radius_m * 1.02, edges_m, 12, 8);
    this.probe = new THREE.Mesh(cage, new THREE.MeshBasicMaterial({ color: 0xff8a2a, wireframe: true }));
    // a small marker of a fixed size that nothing hides
    const onTop = (color) => new THREE.MeshBasicMaterial({ color, depthTest: false, transparent: true });
    this.diamond = new THREE.Mesh(new THREE.OctahedronGeometry(DIAMOND_M), onTop(0xffffff));
    this.spring = new THREE.Line(new THREE.BufferGeometry().setFromPoints([TARGET, TARGET]), onTop(0x6cb0ff));
    const arrow = (color) => {
      const one = new THREE.ArrowHelper(new THREE.Vector3(0, 0, 1), TARGET, 0.01, color, 0.004, 0.003);
      for (const part of [one.line, one.cone]) Object.assign(part.material, { depthTest: false, transparent: true });
      one.line.renderOrder = one.cone.renderOrder = 9;
      return one;
    };
    [this.arrow, this.other] = [arrow(0xd81b3c), arrow(0x8450b8)];
    this.diamond.renderOrder = 10;
    this.spring.renderOrder = 9;
    this.radius_m = radius_m;
    this.look_of = JSON.stringify([radius_m, edges_m, kind, other]);
    tools.add(this.tool.group, this.parked.group, this.aim, this.probe, this.diamond, this.spring, this.arrow, this.other);
    this.parked.group.visible = this.other.visible = false;
    this.aim.visible = this.spring.visible = this.probe.visible = false;
    this.scene.add(tools);
    this.dirty = true;
  }

  /** Changes the tools, if they look different from the present ones. */
  changeTool({ radius_m, edges_m = [], kind = "", other = kind }) {
    if (this.look_of !== JSON.stringify([radius_m, edges_m, kind, other])) this.props({ radius_m, edges_m, kind, other });
  }

  /** Another surface from now on. */
  mesh({ rest_m, triangles, revision }) {
    if (this.tissue) {
      this.tissue.removeFromParent();
      this.tissue.geometry.dispose();
    }
    const attribute = (values) => new THREE.BufferAttribute(values, 3).setUsage(THREE.DynamicDrawUsage);
    this.rest_m = rest_m;
    this.positions = attribute(new Float32Array(rest_m));
    this.normals = attribute(new Float32Array(rest_m.length));
    this.colors = attribute(new Float32Array(rest_m.length).fill(1));
    this.triangles = triangles;
    this.material ??= skin(this.uniforms);
    this.revision = revision;
    this.coming = null;
    this.rest_top_m = rest_m.reduce((top, z, at) => (at % 3 === 2 && z > top ? z : top), -Infinity);
    this.fine = null;
    this.refine(this.smooth);
  }

  /** Draw the mesh as it is, or smooth through its nodes. */
  refine(smooth) {
    this.smooth = smooth;
    if (!this.triangles) return;
    this.fine = null;
    let [positions, normals, colors, rest, triangles] = [this.positions, this.normals, this.colors, this.rest_m, this.triangles];
    if (smooth && triangles.length <= 3 * FACES_MAX) {
      const finer = new Smooth(triangles, rest.length / 3);
      const values = () => new THREE.BufferAttribute(new Float32Array(3 * finer.size), 3).setUsage(THREE.DynamicDrawUsage);
      this.fine = { finer, positions: values(), normals: values(), colors: values() };
      const spread = new Float32Array(3 * finer.size);
      finer.spread(rest, spread);
      ({ positions, normals, colors } = this.fine);
      [rest, triangles] = [spread, finer.triangles];
    }
    this.tissue?.removeFromParent();
    this.tissue?.geometry.dispose();
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", positions);
    geometry.setAttribute("normal", normals);
    geometry.setAttribute("color", colors);
    geometry.setAttribute("rest", new THREE.BufferAttribute(rest, 3));
    geometry.setIndex(new THREE.BufferAttribute(triangles, 1));
    this.tissue = new THREE.Mesh(geometry, this.material);
    this.tissue.frustumCulled = false;
    this.body.add(this.tissue);
    this.viewer?.mesh();
    this.shade();
    this.painted();
  }

  /** Height of the top of the tissue at rest [m], undefined without tissue. */
  get top_m() {
    return this.rest_top_m === undefined ? undefined : this.rest_top_m + this.body.position.z;
  }

  /** Where the nodes are now, for the next picture. */
  surface({ positions_m, revision }) {
    if (revision !== this.revision || positions_m.length !== this.positions.array.length) return;
    this.coming = positions_m;
  }

  /** Bend the surface to where its nodes came last, if they are elsewhere. */
  follow() {
    const { coming } = this;
    if (!coming) return;
    this.coming = null;
    const shown = this.positions.array;
    if (coming.every((place, at) => Math.abs(place - shown[at]) < SAME_M)) return;
    shown.set(coming);
    this.positions.needsUpdate = true;
    this.shade();
  }

  /** Normals, and what is drawn between the nodes. */
  shade() {
    normals(this.positions.array, this.triangles, this.normals.array);
    this.normals.needsUpdate = true;
    if (this.fine) {
      const { finer, positions, normals: fine } = this.fine;
      finer.bend(this.positions.array, this.normals.array, positions.array);
      normals(positions.array, finer.triangles, fine.array);
      positions.needsUpdate = fine.needsUpdate = true;
    }
    this.viewer?.moved();
    this.moves++;
    this.dirty = true;
  }

  /** Colours of the nodes changed. */
  painted() {
    this.colors.needsUpdate = true;
    if (this.fine) {
      this.fine.finer.spread(this.colors.array, this.fine.colors.array);
      this.fine.colors.needsUpdate = true;
    }
    this.dirty = true;
  }

  /** Tool, aim, probe and force as they are. */
  state({ master, slave }, pointer) {
    const told = [pointer, master.twin_height_m || 0, master.state, slave.spoken, ...master.position_m, ...master.intended_m, ...slave.position_m, ...master.port_force_n,
      ...[...master.parked_m, ...master.parked_n].map((value) => value || 0)];
    if (this.told?.every((value, at) => Math.abs(value - told[at]) < SAME)) return;
    this.told = told;
    const place = (part, [x, y, z]) => part.position.set(x, y, z);
    this.body.position.z = master.twin_height_m || 0;
    this.tool.place(master.position_m, master.velocity_mps);
    place(this.diamond, master.position_m);
    // a page that may not know of it is sent no number
    const lies = master.parked_m.some((m) => m && Number.isFinite(m));
    this.parked.group.visible = lies;
    if (lies) this.parked.place(master.parked_m);
    this.push(this.other, master.parked_m, lies ? new THREE.Vector3(...master.parked_n.slice(0, 3)) : new THREE.Vector3());
    const held = pointer && master.state === 1;
    this.aim.visible = this.spring.visible = held;
    if (held) {
      place(this.aim, master.intended_m);
      const ends = this.spring.geometry.attributes.position;
      ends.setXYZ(0, ...master.position_m.slice(0, 3));
      ends.setXYZ(1, ...master.intended_m.slice(0, 3));
      ends.needsUpdate = true;
      this.spring.geometry.boundingSphere = null;
      this.spring.frustumCulled = false;
    }
    this.probe.visible = slave.spoken === 1;
    place(this.probe, slave.position_m);
    // what the port pushes into the channel is the opposite of what the hand feels
    const force = new THREE.Vector3(...master.port_force_n.slice(0, 3)).negate();
    this.push(this.arrow, master.position_m, force);
    this.dirty = true;
  }

  /** An arrow where a force is felt, as long as it. */
  push(arrow, [x, y, z], force) {
    const size_n = force.length();
    arrow.visible = size_n > 0.03;
    if (!arrow.visible) return;
    arrow.position.set(x, y, z);
    arrow.setDirection(force.normalize());
    arrow.setLength(0.004 + ARROW_M_PER_N * size_n, 0.004, 0.003);
  }

  background(color) {
    this.scene.background = new THREE.Color(color);
    this.dirty = true;
  }

  /** Camera about its target: angles [rad] and distance [m]. */
  reset() {
    this.look = { turn: -0.32, lift: 0.62, far_m: 0.235 };
    this.target.copy(TARGET);
    this.turned();
  }

  orbit(turn, lift) {
    this.look.turn -= turn;
    this.look.lift = Math.min(1.5, Math.max(0.02, this.look.lift + lift));
    this.turned();
  }

  zoom(factor) {
    this.look.far_m = Math.min(1.2, Math.max(0.05, this.look.far_m * factor));
    this.turned();
  }

  pan(right, up) {
    const m = new THREE.Vector3();
    const scale = this.look.far_m * 0.0012;
    this.target.addScaledVector(m.setFromMatrixColumn(this.camera.matrix, 0), -right * scale);
    this.target.addScaledVector(m.setFromMatrixColumn(this.camera.matrix, 1), up * scale);
    this.turned();
  }

  turned() {
    const { turn, lift, far_m } = this.look;
    const level = Math.cos(lift) * far_m;
    this.camera.position.set(Math.sin(turn) * level, -Math.cos(turn) * level, Math.sin(lift) * far_m).add(this.target);
    this.camera.lookAt(this.target);
    this.camera.updateMatrixWorld();
    this.dirty = true;
  }

  /** Where the ray of a point of the canvas [px] meets the plane at a height; null if it does not. */
  at(x, y, height_m) {
    const box = this.canvas.getBoundingClientRect();
    const [eye, right, up] = this.viewer.under(x, y, box);
    this.ray.setFromCamera(new THREE.Vector2(right, up), eye);
    const plane = new THREE.Plane(new THREE.Vector3(0, 0, 1), -height_m);
    return this.ray.ray.intersectPlane(plane, new THREE.Vector3());
  }

  /** Where a place [m] is on the screen [px]. */
  onScreen(place) {
    return this.viewer.onScreen(place);
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.canvas.parentElement;
    if (!width || !height) return;
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / height;
    this.camera.updateProjectionMatrix();
    this.dirty = true;
  }

  /** Pictures get coarser while they come slowly, finer when they do not, and as fine as can be once nothing moves. */
  afford(since_ms) {
    const now_ms = performance.now();
    if (this.drew) {
      this.moved_ms = now_ms;
      this.slow_ms = 0.9 * (this.slow_ms ?? 16) + 0.1 * Math.min(200, since_ms);
      if (now_ms - (this.changed_ms ?? 0) > 2000) this.tune();
    } else if (now_ms - (this.moved_ms ?? now_ms) > STILL_MS && this.grain(this.finest)) this.viewer.draw();
  }

  /** How fine pictures are while things move. */
  tune() {
    const finest = Math.min(devicePixelRatio, this.finest);
    const wanted = this.slow_ms > SLOW_MS ? Math.max(COARSEST, this.ratio * 0.75)
      : this.slow_ms < QUICK_MS ? Math.min(finest, this.ratio * 1.25) : this.ratio;
    if (wanted === this.ratio) return;
    this.ratio = wanted;
    this.changed_ms = performance.now();
  }

  /** Pixels of a picture for one of the page; whether that is another number, so that it must be drawn. */
  grain(ratio) {
    if (this.renderer.getPixelRatio() === ratio) return false;
    this.renderer.setPixelRatio(ratio);
    this.resize();
    this.dirty = false;
    return true;
  }

  /** Draw, if anything has changed. */
  draw() {
    this.follow();
    this.drew = Boolean(this.dirty);
    this.dirty = false;
    if (!this.drew) return false;
    this.grain(this.ratio);
    this.viewer.draw();
    return true;
  }
}
