// Runs a server, and starts it again if it ends; but not if it ends too often.
"use strict";

const { Peer } = require("./rpc.js");

/** A server is started again at most MOST_RESTARTS times within WITHIN milliseconds. */
const MOST_RESTARTS = 4;
const WITHIN = 3 * 60 * 1000;

/**
 * A server. `spawn` starts its process, `greet(peer)` initializes it, and `handlers` are those of
 * `Peer`. When the server ends, `onEnd(kind, why)` is called; `kind` is `restart`, `given up` or
 * `not started`.
 */
class Session {
  constructor({ spawn, greet, handlers, onEnd, now = Date.now }) {
    Object.assign(this, { spawn, greet, handlers, onEnd, now });
    this.restarts = [];
    this.stopped = false;
    this.ready = false;
    this.start();
  }

  /** Starts the process. `started` is a promise of the peer after its initialization. */
  start() {
    const process = this.spawn();
    const peer = new Peer((bytes) => process.stdin.write(bytes), this.handlers);
    const over = (why, wasStarted) => {
      if (this.peer !== peer || peer.ended) return;
      this.ready = false;
      peer.end(why);
      if (!this.stopped) this.recover(why, wasStarted);
    };
    Object.assign(this, { process, peer });
    process.stdin.on("error", () => {
      // The `exit` event of the process says more.
    });
    process.stdout.on("data", (bytes) => {
      try {
        peer.take(bytes);
      } catch (error) {
        process.kill();
        over(error.message, true);
      }
    });
    process.on("exit", (code, signal) => over(`mazurka has ended (${signal ?? code})`, true));
    process.on("error", (error) => over(error.message, false));
    this.started = this.greet(peer).then(() => {
      this.ready = true;
      return peer;
    });
    // Whatever awaits `started` gets the error. If nothing does, this avoids an unhandled
    // rejection.
    this.started.catch(() => {});
  }

  /** Starts the process again, unless it has ended too often. */
  recover(why, wasStarted) {
    const now = this.now();
    this.restarts = this.restarts.filter((time) => now - time < WITHIN);
    if (!wasStarted) {
      this.onEnd("not started", why);
    } else if (this.restarts.length >= MOST_RESTARTS) {
      this.onEnd("given up", why);
    } else {
      this.restarts.push(now);
      this.start();
      this.onEnd("restart", why);
    }
  }

  /** Sends a notification if the server is ready. Otherwise `greet` later sends all open files. */
  notify(method, params) {
    if (this.ready) this.peer.notify(method, params);
  }

  /** Ends the server as the protocol requires: by `shutdown` and `exit`. */
  async stop() {
    this.stopped = true;
    try {
      await this.peer.request("shutdown", null);
      this.peer.notify("exit", null);
    } catch {
      this.process.kill();
    }
  }
}

module.exports = { MOST_RESTARTS, Session };
