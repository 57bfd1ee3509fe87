// From what the protocol says to what VS Code wants. Both count lines from 0 and UTF-16 units.
"use strict";

/** The conversions, for the module `vscode` or what stands for it in tests. */
module.exports = function conversions(vscode) {
  const position = (at) => new vscode.Position(at.line, at.character);
  const range = (of) => new vscode.Range(position(of.start), position(of.end));
  const uri = (text) => vscode.Uri.parse(text);
  const location = (at) => new vscode.Location(uri(at.uri), range(at.range));
  const edit = (one) => new vscode.TextEdit(range(one.range), one.newText);

  function diagnostic(told) {
    // The protocol counts severities from 1, VS Code from 0.
    const severity = (told.severity ?? 1) - 1;
    const one = new vscode.Diagnostic(range(told.range), told.message, severity);
    one.code = told.code;
    one.source = told.source;
    one.relatedInformation = (told.relatedInformation ?? []).map(
      (related) =>
        new vscode.DiagnosticRelatedInformation(location(related.location), related.message),
    );
    return one;
  }

  function symbol(told) {
    // Kinds are counted from 1 and from 0.
    const one = new vscode.DocumentSymbol(
      told.name,
      told.detail ?? "",
      told.kind - 1,
      range(told.range),
      range(told.selectionRange),
    );
    one.children = (told.children ?? []).map(symbol);
    return one;
  }

  function completion(told) {
    const item = new vscode.CompletionItem(told.label, (told.kind ?? 1) - 1);
    item.detail = told.detail;
    return item;
  }

  function lens(told) {
    const { title, command, arguments: given } = told.command;
    return new vscode.CodeLens(range(told.range), { title, command, arguments: given });
  }

  function hint(told) {
    const one = new vscode.InlayHint(position(told.position), told.label);
    one.tooltip = told.tooltip;
    one.paddingRight = told.paddingRight;
    return one;
  }

  const hover = (told) =>
    told && new vscode.Hover(new vscode.MarkdownString(told.contents.value), told.range && range(told.range));

  function workspaceEdit(told) {
    const all = new vscode.WorkspaceEdit();
    for (const [file, edits] of Object.entries(told?.changes ?? {})) {
      all.set(uri(file), edits.map(edit));
    }
    return all;
  }

  return {
    completion, diagnostic, edit, hint, hover, lens, location, position, range, symbol, workspaceEdit,
  };
};
