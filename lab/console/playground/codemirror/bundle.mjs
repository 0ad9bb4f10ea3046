// What the console's policy editor needs of CodeMirror, as one script: window.CodeMirror.
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import { bracketMatching, defaultHighlightStyle, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { EditorState } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

export { bracketMatching, defaultHighlightStyle, defaultKeymap, drawSelection, EditorState, EditorView, highlightActiveLine, highlightActiveLineGutter, highlightSelectionMatches, HighlightStyle, history, historyKeymap, indentOnInput, indentUnit, indentWithTab, keymap, lineNumbers, lintGutter, lintKeymap, python, search, searchKeymap, setDiagnostics, syntaxHighlighting, tags };
