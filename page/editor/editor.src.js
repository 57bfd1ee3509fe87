// What the page uses of CodeMirror, in one file. page/editor/build makes crates/serve/page/editor.js of it.
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
