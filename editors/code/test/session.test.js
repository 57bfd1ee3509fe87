"use strict";

const assert = require("node:assert");
const { EventEmitter } = require("node:events");
const test = require("node:test");
const { Reader, framed } = require("../lib/rpc.js");
const { MOST_RESTARTS, Session } = require("../lib/session.js");

/** Makes processes that answer nothing, and records what the session reports about them. */
function sessions() {
  const processes = [];
  const said = [];
  const clock = { now: 0 };
  const session = new Session({
    spawn() {
      const one = new EventEmitter();
      one.stdout = new EventEmitter();
      one.stdin = new EventEmitter();
      one.sent = [];
      one.stdin.write = (bytes) => one.sent.push(...new Reader().take(bytes));
      one.kill = () => (one.killed = true);
      processes.push(one);
      return one;
    },
    greet: (peer) => peer.request("initialize", {}),
    handlers: {},
    onEnd: (kind, why) => said.push([kind, why]),
    now: () => clock.now,
  });
  const answer = (one) => one.stdout.emit("data", framed({ id: one.sent[0].id, result: {} }));
  return { session, processes, said, clock, answer };
}

test("a server that ends is started again, and its requests fail", async () => {
  const { session, processes, said, answer } = sessions();
  session.notify("lost", {});
  answer(processes[0]);
  const peer = await session.started;
  session.notify("told", {});
  assert.deepStrictEqual(processes[0].sent.map((one) => one.method), ["initialize", "told"]);
  const waiting = peer.request("hover", {});
  processes[0].emit("exit", 3, null);
  await assert.rejects(waiting, /ended \(3\)/);
  // A request to the old server does not wait for ever.
  await assert.rejects(peer.request("hover", {}), /ended/);
  assert.deepStrictEqual(said, [["restart", "mazurka has ended (3)"]]);
  assert.strictEqual(processes.length, 2);
  session.notify("lost", {});
  answer(processes[1]);
  assert.strictEqual(await session.started, session.peer);
  assert.deepStrictEqual(processes[1].sent.map((one) => one.method), ["initialize"]);
});

test("it is not started again for ever", async () => {
  const { session, processes, said, clock } = sessions();
  for (let time = 0; time <= MOST_RESTARTS; time++) {
    processes[time].emit("exit", null, "SIGKILL");
    processes[time].emit("exit", null, "SIGKILL");
  }
  assert.strictEqual(processes.length, MOST_RESTARTS + 1);
  const kinds = [...Array(MOST_RESTARTS).fill("restart"), "given up"];
  assert.deepStrictEqual(said.map(([kind]) => kind), kinds);
  await assert.rejects(session.started, /SIGKILL/);
  // After a while the server may be started again.
  const later = sessions();
  for (let time = 0; time < 3 * MOST_RESTARTS; time++) {
    later.clock.now += 60 * 1000;
    later.processes[time].emit("exit", 1, null);
  }
  assert.ok(later.said.every(([kind]) => kind === "restart"));
  assert.strictEqual(clock.now, 0);
});

test("a program that is not there is not looked for again", async () => {
  const { session, processes, said } = sessions();
  processes[0].emit("error", new Error("ENOENT"));
  assert.deepStrictEqual(said, [["not started", "ENOENT"]]);
  assert.strictEqual(processes.length, 1);
  await assert.rejects(session.started, /ENOENT/);
});

test("output that is no message ends the server", () => {
  const { processes, said } = sessions();
  processes[0].stdout.emit("data", Buffer.from("hello\r\n\r\n"));
  assert.ok(processes[0].killed);
  processes[0].emit("exit", null, "SIGTERM");
  assert.strictEqual(said.length, 1);
  assert.strictEqual(processes.length, 2);
});

test("a server that is stopped stays so", async () => {
  const { session, processes, said, answer } = sessions();
  answer(processes[0]);
  await session.started;
  const stopped = session.stop();
  const shutdown = processes[0].sent.at(-1);
  assert.strictEqual(shutdown.method, "shutdown");
  processes[0].stdout.emit("data", framed({ id: shutdown.id, result: null }));
  await stopped;
  assert.strictEqual(processes[0].sent.at(-1).method, "exit");
  processes[0].emit("exit", 0, null);
  assert.deepStrictEqual([said.length, processes.length], [0, 1]);
});
