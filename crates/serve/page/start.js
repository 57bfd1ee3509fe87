// Starts to load the engine while the rest of the page still loads, because the engine takes
// longest.
import { findEngine } from "./engine.js";

// The address that `mazurka serve` prints may contain a token.
const token = /^#token=([\w-]+)$/.exec(location.hash)?.[1];
if (token) {
  sessionStorage.setItem("mazurka-token", token);
  history.replaceState(null, "", location.pathname);
}

/** The engine, and the table of its commands and flags. */
export const found = findEngine(sessionStorage.getItem("mazurka-token") ?? "");
/** Whether the address has a program in it. */
export const linked = () => /^#\d/.test(location.hash);
/** The text of the program that is shown first; null if the address has a program in it. */
export const counter = linked() ? null : fetch("examples/counter.maz").then((answer) => answer.text());
// `page.js` reports the errors.
found.catch(() => {});
counter?.catch(() => {});
