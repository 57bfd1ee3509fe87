// The parts of CodeMirror that the page uses. page/editor/build bundles them into
// crates/serve/page/editor.js.
export { EditorState, StateEffect, StateField, RangeSet } from "@codemirror/state";
export {
  Decoration, EditorView, GutterMarker, drawSelection, gutter, highlightActiveLine, keymap, lineNumbers,
} from "@codemirror/view";
export { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
export {
  HighlightStyle, StreamLanguage, bracketMatching, indentUnit, syntaxHighlighting,
} from "@codemirror/language";
export { autocompletion, completionKeymap, closeBrackets } from "@codemirror/autocomplete";
export { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
export { tags } from "@lezer/highlight";
