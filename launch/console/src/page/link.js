// WebSocket to the server: frames in, orders out with their answers, and reconnection.

import * as wire from "./wire.js";

export class Link {
  /** `handlers` has a function for each kind of frame and message, and `opened` and `closed`. */
  constructor(handlers) {
    this.handlers = handlers;
    this.waiting = new Map();
    this.next = 1;
    this.aims = 0;
    this.work_ms = 0;
    this.open();
  }

  open() {
    const address = new URL("live", location.href);
    address.protocol = "ws:";
    const socket = new WebSocket(address);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => this.handlers.opened();
    socket.onmessage = ({ data }) => (typeof data === "string" ? this.message(JSON.parse(data)) : this.frame(data));
    socket.onclose = ({ code, reason }) => {
      for (const { fail } of this.waiting.values()) fail(new Error("the connection is lost"));
      this.waiting.clear();
      const over = code === 1000;
      this.handlers.closed(over ? reason || "the session is over" : reason, over);
      if (!over) setTimeout(() => this.open(), 1000);
    };
    this.socket = socket;
  }

  frame(data) {
    const begun_ms = performance.now();
    const frame = wire.read(data);
    if (frame) this.handlers[frame.kind]?.(frame);
    this.work_ms += performance.now() - begun_ms;
  }

  message(message) {
    if (message.kind !== "answer") return this.handlers[message.kind]?.(message);
    const waiting = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    if (message.ok) waiting?.done(message.text);
    else waiting?.fail(new Error(message.text));
  }

  /** Sends an order; resolves with its result, rejects with the reason of its refusal. */
  order(order) {
    return new Promise((done, fail) => {
      if (this.socket.readyState !== WebSocket.OPEN) return fail(new Error("not connected"));
      const id = this.next++;
      this.waiting.set(id, { done, fail });
      this.socket.send(JSON.stringify({ id, order }));
    });
  }

  /** Sends the pointer target; a target that cannot be sent now is dropped. */
  aim(aim) {
    if (this.socket.readyState !== WebSocket.OPEN || this.socket.bufferedAmount > 4096) return;
    this.socket.send(wire.aim(++this.aims, aim));
  }
}
