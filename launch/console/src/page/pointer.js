// A mouse, a finger, a pen, keys or a gamepad as the handle: in the plane of the surface, and in depth.

const SAY_MS = 16;
const HOVER_M = 0.004;
const COME_M_PER_MS = 0.00006;
const WHEEL_M = 0.0005;
const DRAG_M = 0.00012;
const KEY_M = 0.001;
const REACH_M = 0.045;
const OPEN_M = 0.02;
const CLOSED_M = 0.003;
const REST_MS = 300;

export class Pointer {
  /** `say` is told the aim 60 times a second while the handle is held, and once when it is let go. */
  constructor(scene, canvas, say) {
    Object.assign(this, { scene, canvas, say });
    this.enabled = this.halted = false;
    this.held = this.closed = this.clutch = false;
    this.jaws = true;
    this.closed_m = CLOSED_M;
    this.by = null;
    this.rests_until = 0;
    this.scale = 1;
    this.tool_m = [0, 0, 0.03, OPEN_M];
    this.aim_m = [0, 0, 0.03, OPEN_M];
    this.fingers = new Map();
    for (const kind of ["pointerdown", "pointermove", "pointerup", "pointercancel", "lostpointercapture"]) {
      canvas.addEventListener(kind, (event) => this[kind](event));
    }
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    canvas.addEventListener("keydown", (event) => this.keydown(event));
    canvas.addEventListener("blur", () => this.by === "keys" && this.release());
    addEventListener("blur", () => this.release());
    // the word that keeps the handle held does not wait for a screen that draws slowly
    setInterval(() => this.held && this.send(), SAY_MS);
  }

  get touch_m() {
    return this.scene.top_m !== undefined ? this.scene.top_m + this.scene.radius_m : 0.008;
  }

  /** Take the handle where it is; its aim comes down to just above the surface. */
  take(by) {
    if (!this.enabled || this.halted || this.held || performance.now() < this.rests_until) return;
    this.held = true;
    this.by = by;
    this.aim_m = [...this.tool_m];
    this.coming = true;
    this.came_ms = performance.now();
    this.canvas.dataset.held = "true";
  }

  release() {
    if (!this.held) return;
    this.held = false;
    this.by = null;
    delete this.canvas.dataset.held;
    this.send();
  }

  /** Not to be taken until the page has seen where the handle is now. */
  rest() {
    this.rests_until = performance.now() + REST_MS;
  }

  /** Sends the aim to the handler. */
  send() {
    this.come();
    this.aim_m[3] = this.closed && this.jaws ? this.closed_m : OPEN_M;
    this.say({ position_m: this.aim_m, present: this.held, closed: this.closed });
  }

  /** Down to just above the surface, slowly enough not to swing into it. */
  come() {
    const hover_m = this.touch_m + HOVER_M;
    if (!this.coming || !this.held) return;
    this.coming = this.aim_m[2] > hover_m;
    const now_ms = performance.now();
    const way_m = COME_M_PER_MS * Math.min(100, now_ms - this.came_ms);
    this.came_ms = now_ms;
    if (this.coming) this.aim_m[2] = Math.max(hover_m, this.aim_m[2] - way_m);
  }

  /** How deep the aim is [m]: positive in the tissue. */
  get depth_m() {
    return this.touch_m - this.aim_m[2];
  }

  set depth_m(depth) {
    // what is asked for on its way down would be felt as a blow
    if (this.coming) return;
    this.aim_m[2] = this.touch_m - Math.max(-0.03, Math.min(0.02, depth));
  }

  /** Take the place of the cursor as the one that later motion is counted from. */
  index(x, y) {
    this.from = { cursor: this.scene.at(x, y, this.touch_m - this.scene.radius_m), aim: [...this.aim_m] };
  }

  pointerdown(event) {
    this.canvas.focus({ preventScroll: true });
    this.canvas.setPointerCapture(event.pointerId);
    this.fingers.set(event.pointerId, [event.clientX, event.clientY]);
    const first = this.fingers.size === 1 && event.button === 0;
    if (first && this.enabled && !event.ctrlKey) {
      this.take("pointer");
      this.lead = event.pointerId;
      const under = this.scene.at(event.clientX, event.clientY, this.touch_m - this.scene.radius_m);
      // at full scale the tool goes where it is pointed at; else it stays and is led from there
      if (under && this.scale === 1) [this.aim_m[0], this.aim_m[1]] = [clamp(under.x), clamp(under.y)];
      this.index(event.clientX, event.clientY);
    }
  }

  pointermove(event) {
    const before = this.fingers.get(event.pointerId);
    if (!before) return;
    const [dx, dy] = [event.clientX - before[0], event.clientY - before[1]];
    this.fingers.set(event.pointerId, [event.clientX, event.clientY]);
    if (this.held && this.by === "pointer") {
      if (event.pointerId !== this.lead || event.shiftKey) {
        this.depth_m += dy * DRAG_M * this.scale;
        return this.index(event.clientX, event.clientY);
      }
      if (this.clutch) return this.index(event.clientX, event.clientY);
      const now = this.scene.at(event.clientX, event.clientY, this.touch_m - this.scene.radius_m);
      if (!now || !this.from?.cursor) return;
      this.aim_m[0] = clamp(this.from.aim[0] + this.scale * (now.x - this.from.cursor.x));
      this.aim_m[1] = clamp(this.from.aim[1] + this.scale * (now.y - this.from.cursor.y));
    } else if (event.pointerId === this.lead) {
      // the handle was let go under this button: it must not turn the view instead
    } else if (this.fingers.size > 1 || event.buttons & 4) {
      this.scene.pan(dx, dy);
    } else {
      this.scene.orbit(dx * 0.006, dy * 0.006);
    }
  }

  pointerup(event) {
    this.fingers.delete(event.pointerId);
    if (event.pointerId === this.lead) {
      this.lead = null;
      if (this.by === "pointer") this.release();
    }
  }

  pointercancel(event) {
    this.pointerup(event);
  }

  lostpointercapture(event) {
    this.pointerup(event);
  }

  wheel(event) {
    event.preventDefault();
    const notches = Math.sign(event.deltaY) * Math.min(3, Math.abs(event.deltaY) / 100 || 1);
    if (this.held && !event.ctrlKey) this.depth_m += notches * WHEEL_M * this.scale;
    // a wheel that was pressing must not fly away when the handle is let go under it
    else if (!this.fingers.size) this.scene.zoom(Math.exp(0.1 * notches));
  }

  keydown(event) {
    const step = KEY_M * this.scale * (event.shiftKey ? 0.2 : 1);
    const ways = {
      ArrowLeft: [-1, 0, 0], ArrowRight: [1, 0, 0], ArrowUp: [0, 1, 0], ArrowDown: [0, -1, 0],
      PageDown: [0, 0, -1], PageUp: [0, 0, 1],
    };
    if (event.key === " " && this.enabled) {
      if (this.by === "keys") this.release();
      else this.take("keys");
    } else if (event.key in ways && this.held) {
      ways[event.key].forEach((way, axis) => (this.aim_m[axis] += way * step));
      [0, 1].forEach((axis) => (this.aim_m[axis] = clamp(this.aim_m[axis])));
      this.depth_m = this.depth_m;
    } else if (event.key in ways && !event.key.startsWith("Page")) {
      const [right, up] = ways[event.key];
      if (event.shiftKey) this.scene.pan(right * 30, up * -30);
      else this.scene.orbit(right * 0.08, up * -0.08);
    } else if ("+-".includes(event.key)) {
      this.scene.zoom(event.key === "+" ? 0.9 : 1.1);
    } else return;
    event.preventDefault();
  }

  // Once a picture: left stick in the plane, right trigger presses, A takes the handle; the rumble grows with the force.
  pad(force_n) {
    const pad = this.enabled ? navigator.getGamepads?.().find((one) => one?.connected) : null;
    if (!pad) return this.by === "pad" && this.release();
    if (pad.buttons[0]?.pressed) this.take("pad");
    else if (this.by === "pad") this.release();
    if (this.by !== "pad") return;
    const stick = (value) => (Math.abs(value) < 0.12 ? 0 : value);
    this.aim_m[0] = clamp(this.aim_m[0] + stick(pad.axes[0]) * 0.0006 * this.scale);
    this.aim_m[1] = clamp(this.aim_m[1] - stick(pad.axes[1]) * 0.0006 * this.scale);
    this.depth_m = -HOVER_M + (pad.buttons[7]?.value ?? 0) * (HOVER_M + 0.012);
    const strength = Math.min(1, force_n / 4);
    pad.vibrationActuator?.playEffect?.("dual-rumble", { duration: 60, weakMagnitude: strength, strongMagnitude: strength * 0.5 });
  }
}

function clamp(place) {
  return Math.max(-REACH_M, Math.min(REACH_M, place));
}
