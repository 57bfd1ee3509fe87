// Converts values of the protocol to values of VS Code. Both count lines from 0, and columns in
// UTF-16 units.
"use strict";

/** Returns the conversions to the classes of the module `vscode`, or of its replacement in tests. */
module.exports = function conversions(vscode) {
  const position = (at) => new vscode.Position(at.line, at.character);
  const range = (of) => new vscode.Range(position(of.start), position(of.end));
  const uri = (text) => vscode.Uri.parse(text);
  const location = (at) => new vscode.Location(uri(at.uri), range(at.range));
  const edit = (one) => new vscode.TextEdit(range(one.range), one.newText);

  function diagnostic(message) {
    // The protocol counts severities from 1, VS Code from 0.
    const severity = (message.severity ?? 1) - 1;
    const one = new vscode.Diagnostic(range(message.range), message.message, severity);
    one.code = message.code;
    one.source = message.source;
    one.relatedInformation = (message.relatedInformation ?? []).map(
      (related) =>
        new vscode.DiagnosticRelatedInformation(location(related.location), related.message),
    );
    return one;
  }

  function symbol(message) {
    // The protocol counts kinds from 1, VS Code from 0.
    const one = new vscode.DocumentSymbol(
      message.name,
      message.detail ?? "",
      message.kind - 1,
      range(message.range),
      range(message.selectionRange),
    );
    one.children = (message.children ?? []).map(symbol);
    return one;
  }

  function completion(message) {
    const item = new vscode.CompletionItem(message.label, (message.kind ?? 1) - 1);
    item.detail = message.detail;
    return item;
  }

  function lens(message) {
    const { title, command, arguments: given } = message.command;
    return new vscode.CodeLens(range(message.range), { title, command, arguments: given });
  }

  function hint(message) {
    const one = new vscode.InlayHint(position(message.position), message.label);
    one.tooltip = message.tooltip;
    one.paddingRight = message.paddingRight;
    return one;
  }

  const hover = (message) =>
    message && new vscode.Hover(new vscode.MarkdownString(message.contents.value), message.range && range(message.range));

  function workspaceEdit(message) {
    const all = new vscode.WorkspaceEdit();
    for (const [file, edits] of Object.entries(message?.changes ?? {})) {
      all.set(uri(file), edits.map(edit));
    }
    return all;
  }

  return {
    completion, diagnostic, edit, hint, hover, lens, location, position, range, symbol, workspaceEdit,
  };
};
