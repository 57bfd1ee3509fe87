// JSON-RPC over a stream of bytes, as in the language server protocol: a header with the length of
// the message, then the message.
"use strict";

/** Splits a stream of bytes into messages. */
class Reader {
  constructor() {
    this.bytes = Buffer.alloc(0);
  }

  /** Adds bytes, and returns the messages that are complete with them. */
  take(bytes) {
    this.bytes = Buffer.concat([this.bytes, bytes]);
    const messages = [];
    for (;;) {
      const end = this.bytes.indexOf("\r\n\r\n");
      if (end < 0) return messages;
      const header = this.bytes.toString("ascii", 0, end);
      const length = /content-length: *(\d+)/i.exec(header);
      if (!length) throw new Error(`a header without a length: ${header}`);
      const from = end + 4;
      const to = from + Number(length[1]);
      if (this.bytes.length < to) return messages;
      messages.push(JSON.parse(this.bytes.toString("utf8", from, to)));
      this.bytes = this.bytes.subarray(to);
    }
  }
}

/** Returns a message with its header. */
function framed(message) {
  const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }), "utf8");
  return Buffer.concat([Buffer.from(`Content-Length: ${body.length}\r\n\r\n`, "ascii"), body]);
}

/** A connection to a server. `onNotification` gets notifications, `onRequest` answers requests. */
class Peer {
  constructor(write, { onNotification = () => {}, onRequest = () => null } = {}) {
    this.write = write;
    this.onNotification = onNotification;
    this.onRequest = onRequest;
    this.reader = new Reader();
    this.waiting = new Map();
    this.last = 0;
    this.ended = undefined;
  }

  /** Sends a request, whose answer comes later. It fails if the server has ended. */
  request(method, params) {
    const id = ++this.last;
    const answer = new Promise((resolve, reject) => {
      if (this.ended) reject(new Error(this.ended));
      else this.waiting.set(id, { resolve, reject });
    });
    answer.id = id;
    if (!this.ended) this.write(framed({ id, method, params }));
    return answer;
  }

  notify(method, params) {
    if (!this.ended) this.write(framed({ method, params }));
  }

  /** Handles bytes that the server has written. */
  take(bytes) {
    for (const message of this.reader.take(bytes)) {
      if (message.method !== undefined && message.id !== undefined) {
        const result = this.onRequest(message.method, message.params) ?? null;
        this.write(framed({ id: message.id, result }));
      } else if (message.method !== undefined) {
        this.onNotification(message.method, message.params);
      } else {
        const waiting = this.waiting.get(message.id);
        this.waiting.delete(message.id);
        if (!waiting) continue;
        if (message.error) waiting.reject(new Error(message.error.message));
        else waiting.resolve(message.result);
      }
    }
  }

  /** Rejects all pending requests and those that follow, because the server has ended. */
  end(why) {
    this.ended = why;
    for (const { reject } of this.waiting.values()) reject(new Error(why));
    this.waiting.clear();
  }
}

module.exports = { Peer, Reader, framed };
