"use strict";

const assert = require("node:assert");
const test = require("node:test");

/** Replaces the classes of `vscode`: each object stores the arguments of its constructor. */
const recorded = (...names) =>
  class {
    constructor(...values) {
      names.forEach((name, at) => (this[name] = values[at]));
    }
  };
const vscode = {
  Position: recorded("line", "character"),
  Range: recorded("start", "end"),
  Location: recorded("uri", "range"),
  TextEdit: recorded("range", "newText"),
  Diagnostic: recorded("range", "message", "severity"),
  DiagnosticRelatedInformation: recorded("location", "message"),
  DocumentSymbol: recorded("name", "detail", "kind", "range", "selectionRange"),
  CompletionItem: recorded("label", "kind"),
  CodeLens: recorded("range", "command"),
  InlayHint: recorded("position", "label"),
  Hover: recorded("contents", "range"),
  MarkdownString: recorded("value"),
  Uri: { parse: (text) => ({ text }) },
  WorkspaceEdit: class {
    constructor() {
      this.files = [];
    }
    set(uri, edits) {
      this.files.push([uri.text, edits]);
    }
  },
};
const convert = require("../lib/convert.js")(vscode);
const range = { start: { line: 1, character: 2 }, end: { line: 3, character: 4 } };

test("severities and kinds are counted from 0", () => {
  const location = { uri: "file:///a.maz", range };
  const message = { range, message: "m", severity: 2, code: "W0101", relatedInformation: [{ location, message: "r" }] };
  const one = convert.diagnostic(message);
  assert.strictEqual(one.severity, 1);
  assert.strictEqual(one.range.end.character, 4);
  assert.strictEqual(one.relatedInformation[0].location.uri.text, "file:///a.maz");
  assert.strictEqual(convert.diagnostic({ range, message: "m" }).severity, 0);
  const symbol = { name: "p", kind: 5, range, selectionRange: range, children: [{ name: "x", kind: 13, range, selectionRange: range }] };
  assert.deepStrictEqual([convert.symbol(symbol).kind, convert.symbol(symbol).children[0].kind], [4, 12]);
  assert.strictEqual(convert.completion({ label: "x", kind: 6 }).kind, 5);
});

test("edits are kept by file", () => {
  const message = { changes: { "file:///a.maz": [{ range, newText: "y" }] } };
  const [[file, edits]] = convert.workspaceEdit(message).files;
  assert.deepStrictEqual([file, edits[0].newText], ["file:///a.maz", "y"]);
  assert.deepStrictEqual(convert.workspaceEdit(null).files, []);
});

test("missing fields stay missing", () => {
  assert.strictEqual(convert.hover(null), null);
  assert.strictEqual(convert.hover({ contents: { value: "v" } }).contents.value, "v");
  const lens = convert.lens({ range, command: { title: "check", command: "mazurka.check", arguments: ["u"] } });
  assert.deepStrictEqual(lens.command.arguments, ["u"]);
  assert.strictEqual(convert.hint({ position: range.start, label: "◆", paddingRight: true }).paddingRight, true);
});
