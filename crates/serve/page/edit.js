// The text editor of the page: highlighting, completion, mistakes, coverage in the margin, and a
// mark on the line of the current step.
import {
  Decoration, EditorState, EditorView, GutterMarker, HighlightStyle, RangeSet, StateEffect, StateField,
  StreamLanguage, autocompletion, bracketMatching, closeBrackets, completionKeymap, defaultKeymap,
  drawSelection, gutter, history, historyKeymap, indentUnit, keymap, lineNumbers, lintGutter, lintKeymap,
  setDiagnostics, syntaxHighlighting, tags,
} from "./editor.js";

const HIGHLIGHT = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--link)", fontWeight: "600" },
  { tag: tags.comment, color: "var(--quiet)", fontStyle: "italic" },
  { tag: tags.string, color: "var(--good)" },
  { tag: tags.number, color: "var(--unsure)" },
]);

const language = (keywords) => {
  const known = new Set(keywords);
  return StreamLanguage.define({
    startState: () => ({ block: false }),
    token(stream, state) {
      if (state.block) {
        state.block = !stream.match(/.*?\*\//);
        if (state.block) stream.skipToEnd();
        return "comment";
      }
      if (stream.match("//")) {
        stream.skipToEnd();
        return "comment";
      }
      if (stream.match("/*")) {
        state.block = true;
        return "comment";
      }
      if (stream.match(/"(?:[^"\\]|\\.)*"?/)) return "string";
      if (stream.match(/\d[\d_]*/)) return "number";
      if (stream.match(/[A-Za-z_]\w*/)) return known.has(stream.current()) ? "keyword" : null;
      stream.next();
      return null;
    },
    languageData: { commentTokens: { line: "//" } },
  });
};

// Completes keywords and the names in the text.
const completions = (keywords) => (context) => {
  const word = context.matchBefore(/[A-Za-z_]\w*/);
  if (!word && !context.explicit) return null;
  const known = new Set(keywords);
  const names = new Set(context.state.doc.toString().match(/[A-Za-z_]\w*/g) ?? []);
  if (word) names.delete(word.text);
  const options = keywords.map((label) => ({ label, type: "keyword" }));
  for (const label of names) if (!known.has(label)) options.push({ label, type: "variable" });
  return { from: word ? word.from : context.pos, options, validFor: /^\w*$/ };
};

const stepAt = StateEffect.define();
const stepLine = StateField.define({
  create: () => Decoration.none,
  update(marks, change) {
    let now = change.docChanged ? Decoration.none : marks;
    for (const effect of change.effects) {
      if (!effect.is(stepAt)) continue;
      const { doc } = change.state;
      now = effect.value > 0 && effect.value <= doc.lines
        ? Decoration.set([Decoration.line({ class: "step" }).range(doc.line(effect.value).from)]) : Decoration.none;
    }
    return now;
  },
  provide: (field) => EditorView.decorations.from(field),
});

class CoverageMarker extends GutterMarker {
  constructor(kind, words) {
    super();
    this.kind = kind;
    this.words = words;
  }
  eq(other) {
    return other.kind === this.kind && other.words === this.words;
  }
  toDOM() {
    return MazurkaView.make("span", { className: `coverage ${this.kind}`, title: this.words, textContent: this.words });
  }
}

const setCoverage = StateEffect.define();
const coverage = StateField.define({
  create: () => RangeSet.empty,
  update(marks, change) {
    let now = change.docChanged ? RangeSet.empty : marks;
    for (const effect of change.effects) if (effect.is(setCoverage)) now = effect.value;
    return now;
  },
});

// Converts a place of the record, in characters, to an offset in the text.
const offset = (doc, line, column) => {
  if (line < 1 || line > doc.lines) return doc.length;
  const { from, text } = doc.line(line);
  return from + Array.from(text).slice(0, column - 1).join("").length;
};

export class Editor {
  constructor(parent, { keywords, changed }) {
    const extensions = [
      lineNumbers(), lintGutter(), gutter({ class: "cm-coverage", markers: (view) => view.state.field(coverage) }), history(),
      drawSelection(), bracketMatching(), closeBrackets(), indentUnit.of("  "), language(keywords),
      syntaxHighlighting(HIGHLIGHT), autocompletion({ override: [completions(keywords)] }), stepLine, coverage,
      keymap.of([...completionKeymap, ...defaultKeymap, ...historyKeymap, ...lintKeymap]),
      EditorView.contentAttributes.of({ "aria-label": "The program" }), EditorView.lineWrapping,
      EditorView.updateListener.of((update) => update.docChanged && changed()),
    ];
    this.view = new EditorView({ parent, state: EditorState.create({ extensions }) });
  }

  get text() {
    return this.view.state.doc.toString();
  }

  set text(text) {
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text } });
  }

  /** Marks the line of a step. 0 removes the mark. */
  step(line) {
    this.view.dispatch({ effects: stepAt.of(line) });
    if (line > 0 && line <= this.view.state.doc.lines) {
      this.view.dispatch({ effects: EditorView.scrollIntoView(this.view.state.doc.line(line).from) });
    }
  }

  /** Marks mistakes and warnings in the text. */
  diagnose(diagnostics) {
    const { doc } = this.view.state;
    const all = diagnostics.filter((one) => one.span).map(({ span, severity, message, label, code }) => {
      const from = offset(doc, span.line, span.column);
      const to = Math.max(from, Math.min(doc.length, from + span.length));
      return { from, to, severity, message: `${message}${label ? `: ${label}` : ""} (${code})` };
    });
    this.view.dispatch(setDiagnostics(this.view.state, all));
  }

  /** Shows in the margin which conditions were true and which were false. */
  cover(coverage) {
    const { doc } = this.view.state;
    const lines = new Map();
    for (const { place, held, failed } of coverage?.branches ?? []) {
      if (place.file || place.line > doc.lines) continue;
      const before = lines.get(place.line) ?? { held: true, failed: true };
      lines.set(place.line, { held: before.held && held, failed: before.failed && failed });
    }
    const marks = [...lines].sort(([a], [b]) => a - b).map(([line, { held, failed }]) => {
      const [kind, words] = held && failed ? ["both", "the condition held, and failed to hold"]
        : held ? ["half", "the condition always held"] : failed ? ["half", "the condition never held"] : ["none", "never reached"];
      return new CoverageMarker(kind, words).range(doc.line(line).from);
    });
    this.view.dispatch({ effects: setCoverage.of(RangeSet.of(marks)) });
  }

  goTo(line, column) {
    const at = offset(this.view.state.doc, line, column);
    this.view.dispatch({ selection: { anchor: at }, scrollIntoView: true });
    this.view.focus();
  }
}
