// The WebSocket to the server: frames in, orders out and answered, and a new try when it breaks.

import * as wire from "./wire.js";

export class Link {
  /** `heard` has a function for each kind of frame and message, and `opened` and `closed`. */
  constructor(heard) {
    this.heard = heard;
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
    socket.onopen = () => this.heard.opened();
    socket.onmessage = ({ data }) => (typeof data === "string" ? this.word(JSON.parse(data)) : this.frame(data));
    socket.onclose = ({ code, reason }) => {
      for (const { fail } of this.waiting.values()) fail(new Error("the connection is gone"));
      this.waiting.clear();
      const over = code === 1000;
      this.heard.closed(over ? reason || "the session is over" : reason, over);
      if (!over) setTimeout(() => this.open(), 1000);
    };
    this.socket = socket;
  }

  frame(data) {
    const begun_ms = performance.now();
    const frame = wire.read(data);
    if (frame) this.heard[frame.kind]?.(frame);
    this.work_ms += performance.now() - begun_ms;
  }

  word(word) {
    if (word.kind !== "answer") return this.heard[word.kind]?.(word);
    const waiting = this.waiting.get(word.id);
    this.waiting.delete(word.id);
    if (word.ok) waiting?.done(word.text);
    else waiting?.fail(new Error(word.text));
  }

  /** Ask for something; resolves with what was done, rejects with why not. */
  order(order) {
    return new Promise((done, fail) => {
      if (this.socket.readyState !== WebSocket.OPEN) return fail(new Error("not connected"));
      const id = this.next++;
      this.waiting.set(id, { done, fail });
      this.socket.send(JSON.stringify({ id, order }));
    });
  }

  /** Say where the pointer is; what cannot go out now is not sent later. */
  aim(aim) {
    if (this.socket.readyState !== WebSocket.OPEN || this.socket.bufferedAmount > 4096) return;
    this.socket.send(wire.aim(++this.aims, aim));
  }
}
