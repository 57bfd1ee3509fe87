// What takes longest begins first, while the rest of the page is still being read: the engine.
import { findEngine } from "./engine.js";

// An address of `mazurka serve` may have a token in it.
const token = /^#token=([\w-]+)$/.exec(location.hash)?.[1];
if (token) {
  sessionStorage.setItem("mazurka-token", token);
  history.replaceState(null, "", location.pathname);
}

/** The engine, and the table of what it can do. */
export const found = findEngine(sessionStorage.getItem("mazurka-token") ?? "");
/** Whether the address has a program in it. */
export const linked = () => /^#\d/.test(location.hash);
/** What is shown first, if it has none. */
export const counter = linked() ? null : fetch("examples/counter.maz").then((answer) => answer.text());
// `page.js` says what went wrong.
found.catch(() => {});
counter?.catch(() => {});
