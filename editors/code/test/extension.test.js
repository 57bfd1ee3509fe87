// Tests the extension with a replacement for `vscode`, and with a server that records its messages.
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const Module = require("node:module");
const os = require("node:os");
const path = require("node:path");
const test = require("node:test");

const RPC = path.join(__dirname, "..", "lib", "rpc.js");

/** Answers every request with null, and ends at the first text with the word `crash`. */
const SERVER = `#!/usr/bin/env node
const fs = require("node:fs");
const { Peer } = require(${JSON.stringify(RPC)});
const log = (what) => fs.appendFileSync(process.env.MAZURKA_TEST_LOG, JSON.stringify(what) + "\\n");
const peer = new Peer((bytes) => process.stdout.write(bytes), {
  onNotification(method, params) {
    log([method, params]);
    if (JSON.stringify(params).includes("crash")) process.exit(7);
    if (method === "exit") process.exit(0);
  },
  onRequest(method, params) {
    log([method, params]);
    return null;
  },
});
process.stdin.on("data", (bytes) => peer.take(bytes));
`;

/** What the extension uses of `vscode`; `fire` raises an event. */
function editor(settings, documents) {
  const events = {};
  const providers = {};
  const messages = [];
  const event = (name) => (heard) => {
    events[name] = heard;
    return { dispose() {} };
  };
  const provider = (name) => (languages) => {
    providers[name] = [languages].flat();
    return { dispose() {} };
  };
  const names = [
    "Hover", "Definition", "Reference", "Rename", "DocumentSymbol", "CompletionItem",
    "DocumentFormattingEdit", "CodeLens", "InlayHints",
  ];
  const vscode = {
    Uri: { parse: (text) => text },
    EventEmitter: class {
      fire() {}
    },
    ProgressLocation: { Window: 1 },
    window: {
      showWarningMessage: (text) => messages.push(text),
      showErrorMessage: (text) => messages.push(text),
      setStatusBarMessage: (text) => messages.push(text),
      withProgress: (_, work) => work(null, { onCancellationRequested() {} }),
    },
    commands: { registerCommand: (name, run) => ((events[name] = run), { dispose() {} }) },
    languages: Object.fromEntries(
      names.map((name) => [`register${name}Provider`, provider(name)]),
    ),
    workspace: {
      isTrusted: false,
      textDocuments: documents,
      getConfiguration: () => ({ get: (name, usual) => settings[name] ?? usual }),
      onDidGrantWorkspaceTrust: event("trust"),
      onDidChangeConfiguration: event("settings"),
      onDidOpenTextDocument: event("open"),
      onDidCloseTextDocument: event("close"),
      onDidChangeTextDocument: event("change"),
    },
  };
  vscode.languages.createDiagnosticCollection = () => ({ set() {}, clear() {}, dispose() {} });
  return { vscode, fire: (name, ...what) => events[name](...what), providers, messages };
}

test("trust, settings, formatting and restarts reach the server", async (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "mazurka-"));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  const server = path.join(folder, "server.js");
  fs.writeFileSync(server, SERVER, { mode: 0o755 });
  const log = path.join(folder, "log");
  process.env.MAZURKA_TEST_LOG = log;
  const heard = () =>
    fs.existsSync(log) ? fs.readFileSync(log, "utf8").trim().split("\n").map((line) => JSON.parse(line)) : [];
  const until = async (holds) => {
    for (let time = 0; !holds(); time++) {
      assert.ok(time < 1000, JSON.stringify(heard()));
      await new Promise((go) => setTimeout(go, 20));
    }
  };
  const document = {
    languageId: "maz", version: 1, uri: "file:///a.maz", getText: () => "process { skip }",
  };
  const settings = { path: server };
  const { vscode, fire, providers, messages } = editor(settings, [document]);
  const load = Module._load;
  Module._load = (name, ...rest) => (name === "vscode" ? vscode : load(name, ...rest));
  t.after(() => (Module._load = load));
  const extension = require("../extension.js");
  await extension.activate({ subscriptions: [] });
  assert.deepStrictEqual(providers.DocumentFormattingEdit, ["maz", "abs"]);
  await until(() => heard().length === 3);
  const methods = () => heard().map(([method]) => method);
  const start = ["initialize", "initialized", "textDocument/didOpen"];
  assert.deepStrictEqual(methods(), start);
  assert.strictEqual(heard()[0][1].initializationOptions.trusted, false);

  vscode.workspace.isTrusted = true;
  fire("trust");
  settings.timeLimit = 3;
  fire("settings", { affectsConfiguration: (name) => name === "mazurka" });
  fire("settings", { affectsConfiguration: () => false });
  const configured = () => heard().filter(([method]) => method === "workspace/didChangeConfiguration");
  await until(() => configured().length === 2);
  assert.deepStrictEqual(
    configured().map(([, params]) => params.settings.mazurka),
    [{ timeLimit: 10, trusted: true }, { timeLimit: 3, trusted: true }],
  );

  // The server ends. The next one is told about the open files and the trust.
  const range = { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } };
  const contentChanges = [{ range, rangeOffset: 0, text: "crash" }];
  fire("change", { document, contentChanges });
  await until(() => methods().filter((method) => method === "textDocument/didOpen").length === 2);
  assert.deepStrictEqual(methods().slice(-3), start);
  assert.strictEqual(heard().at(-3)[1].initializationOptions.trusted, true);
  assert.deepStrictEqual(messages, ["Mazurka is started again: mazurka has ended (7)."]);
  await fire("mazurka.check", "file:///a.maz", "mine");
  assert.strictEqual(methods().at(-1), "workspace/executeCommand");
  await extension.deactivate();
  await until(() => methods().at(-1) === "exit");
});
