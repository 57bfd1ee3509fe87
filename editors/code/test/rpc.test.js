"use strict";

const assert = require("node:assert");
const { spawn } = require("node:child_process");
const test = require("node:test");
const { Peer, Reader, framed } = require("../lib/rpc.js");

test("messages come out as they went in, wherever the bytes are cut", () => {
  const messages = [{ id: 1, result: "▷ 𝔸" }, { method: "told", params: [] }, { id: 2, result: null }];
  const bytes = Buffer.concat(messages.map(framed));
  for (let size = 1; size < 40; size++) {
    const reader = new Reader();
    const found = [];
    for (let at = 0; at < bytes.length; at += size) {
      found.push(...reader.take(bytes.subarray(at, at + size)));
    }
    assert.deepStrictEqual(found, messages.map((one) => ({ jsonrpc: "2.0", ...one })));
  }
});

test("a header without a length is an error", () => {
  assert.throws(() => new Reader().take(Buffer.from("Content-Type: x\r\n\r\n{}")), /length/);
});

test("answers find their requests, and errors are errors", async () => {
  const sent = [];
  const peer = new Peer((bytes) => sent.push(...new Reader().take(bytes)), { onRequest: () => 7 });
  const [one, other] = [peer.request("a", 1), peer.request("b", 2)];
  assert.deepStrictEqual(sent.map((message) => message.method), ["a", "b"]);
  peer.take(framed({ id: sent[1].id, result: "second" }));
  peer.take(framed({ id: sent[0].id, error: { code: 1, message: "no" } }));
  peer.take(framed({ id: 99, result: null }));
  assert.strictEqual(await other, "second");
  await assert.rejects(one, /no/);
  peer.take(framed({ id: "x", method: "ask" }));
  assert.deepStrictEqual([sent[2].id, sent[2].result], ["x", 7]);
  const left = peer.request("c");
  peer.end("gone");
  await assert.rejects(left, /gone/);
});

const mazurka = process.env.MAZURKA;

test("the server answers", { skip: mazurka ? false : "MAZURKA is not set" }, async () => {
  const child = spawn(mazurka, ["lsp"], { stdio: ["pipe", "pipe", "inherit"] });
  const notifications = [];
  const peer = new Peer((bytes) => child.stdin.write(bytes), {
    onNotification: (method, params) => notifications.push([method, params]),
  });
  child.stdout.on("data", (bytes) => peer.take(bytes));
  const ended = new Promise((resolve) => child.on("exit", resolve));
  const hello = await peer.request("initialize", { capabilities: {} });
  assert.strictEqual(hello.serverInfo.name, "mazurka");
  peer.notify("initialized", {});
  const uri = "file:///one.maz";
  const text = "var x: int = 0\nprocess { x := 1 }\nprocess { x := 2 }\n";
  const textDocument = { uri, languageId: "maz", version: 1, text };
  peer.notify("textDocument/didOpen", { textDocument });
  const found = await peer.request("workspace/executeCommand", {
    command: "mazurka.check",
    arguments: [uri],
  });
  assert.strictEqual(found.verdict, "violated");
  assert.ok(notifications.some(([, params]) => params.diagnostics.length === 1));
  await peer.request("shutdown", null);
  peer.notify("exit", null);
  assert.strictEqual(await ended, 0);
});
