// The page: a program, a command with options, and the answer. The answer is the report of
// `--format html`, from which the page takes the figures and the record.
import { Editor } from "./edit.js";
import { Cancelled, badName, quoted, valuesOf, wordsOf } from "./engine.js";
import { isCertain, packed, unpacked } from "./link.js";
import { counter, found, linked } from "./start.js";

const { at, attachAll, make } = MazurkaView;
const $ = (id) => document.getElementById(id);

/** Options that are shown first. */
const USUAL = ["algorithm", "property", "memory", "set", "schedule", "inputs", "goal", "net", "seed", "time-limit", "memory-limit"];
/** The default limits: a page must not exhaust the machine. */
const LIMITS = { "time-limit": "60s", "memory-limit": "1G" };
/** Options that affect how a program is loaded. */
const READING = ["set", "ignore-time", "observe", "object", "product", "main"];
/** The maximal size of a record. */
const MOST_RECORD = 64 << 20;
/** The text is checked after this many milliseconds without a change. */
const PAUSE = 250;

const state = { engine: null, checker: null, table: null, options: { ...LIMITS }, running: false, pause: 0, diagnosed: 0, mistakes: [] };
let editor;

const commandNamed = (name) => state.table.commands.find((command) => command.name === name);

// The options of the command that differ from their defaults.
function options() {
  const flags = commandNamed($("command").value).flags;
  const wanted = {};
  for (const { name, default: usual } of flags) {
    const value = state.options[name];
    if (value === undefined || value === "" || value === usual || (Array.isArray(value) && !value.length)) continue;
    wanted[name] = value;
  }
  return wanted;
}

const request = (format, more = {}) => ({
  command: $("command").value, file: $("file").value, files: { [$("file").value]: editor.text }, options: options(), format, ...more,
});

function showWords() {
  const { command, file, options } = request("");
  const words = [...wordsOf({ command, file, options }), ...(commandNamed(command).always ?? [])];
  $("words").textContent = ["mazurka", ...words].map(quoted).join(" ");
}

function field(flag) {
  const value = state.options[flag.name];
  const set = (now) => {
    state.options[flag.name] = now;
    showWords();
    if (READING.includes(flag.name)) later();
  };
  const id = `option-${flag.name}`;
  if (flag.value === undefined) {
    const box = make("input", { type: "checkbox", id, checked: value === true, onchange: () => set(box.checked ? true : "") });
    return make("label", { className: "switch", title: flag.help }, box, flag.name);
  }
  let input;
  if (flag.choices.length && !flag.many) {
    input = make("select", { id, onchange: () => set(input.value) },
      ...(flag.default === undefined ? [make("option", { value: "", textContent: "–" })] : []),
      ...flag.choices.map((choice) => make("option", { value: choice, textContent: choice })));
    input.value = value || flag.default || "";
  } else {
    const text = Array.isArray(value) ? value.join(" ") : value ?? "";
    input = make("input", {
      id, value: text, placeholder: flag.default ?? flag.value, spellcheck: false, autocomplete: "off",
      oninput: () => set(flag.many ? valuesOf(input.value, flag.name === "goal") : input.value.trim()),
    });
  }
  return make("label", { title: flag.help }, flag.name, input);
}

function showForm() {
  const command = commandNamed($("command").value);
  $("about").textContent = command.about;
  const usual = USUAL.map((name) => command.flags.find((flag) => flag.name === name)).filter(Boolean);
  $("usual").replaceChildren(...usual.map(field));
  $("rest").replaceChildren(...command.flags.filter((flag) => !usual.includes(flag)).map(field));
  showWords();
}

// Shows mistakes and warnings in and under the text.
function showMistakes(diagnostics) {
  state.mistakes = diagnostics;
  editor.diagnose(diagnostics);
  $("mistakes").replaceChildren(...diagnostics.map(({ code, severity, message, label, span, help }) =>
    make("li", { className: severity === "error" ? "bad" : "unsure" },
      span ? make("button", { type: "button", className: "link", textContent: `${span.line}:${span.column}`, onclick: () => editor.goTo(span.line, span.column) }) : "",
      ` ${severity} ${code}: ${message}${label ? `: ${label}` : ""} `, make("span", { className: "help", textContent: help ?? "" }))));
}

// Loads the program and makes at most one step, to find mistakes.
async function diagnose() {
  const number = ++state.diagnosed;
  if (badName($("file").value)) return;
  const reading = Object.fromEntries(Object.entries(state.options).filter(([name, value]) => READING.includes(name) && value && value.length !== 0));
  const { code, out } = await state.checker.ask({ ...request("json"), command: "run", options: { ...reading, "max-steps": "1" } });
  if (number !== state.diagnosed) return;
  let diagnostics = [];
  if (code === 3 && out.startsWith("{")) diagnostics = JSON.parse(out).diagnostics ?? [];
  showMistakes(diagnostics);
}

// Marks the answer as outdated, because the text or the options have changed, or removes the mark.
const outdated = (is) => $("answer").classList.toggle("outdated", is);

function later() {
  outdated(true);
  clearTimeout(state.pause);
  state.pause = setTimeout(() => diagnose().catch((error) => console.warn(error)), PAUSE);
}

function busy(running, words = "") {
  state.running = running;
  $("cancel").disabled = !running;
  $("go").disabled = running;
  $("compare").disabled = running;
  $("progress").textContent = words;
  $("result").setAttribute("aria-busy", String(running));
  outdated(running);
}

// Returns the parts of a report, imported into this document. The report contains everything from a
// program as text, never as markup.
function parts(html) {
  const report = new DOMParser().parseFromString(html, "text/html");
  const record = JSON.parse(report.getElementById("record").textContent);
  const all = [...report.querySelector("main").children].filter((one) => one.tagName !== "H1" && !one.querySelector("ol.source"));
  return { record, all: all.map((one) => document.importNode(one, true)) };
}

function showReport(into, html) {
  const { record, all } = parts(html);
  into.replaceChildren(...all);
  attachAll(into, record, { line: (number) => editor.step(number), open: openRun });
  for (const node of into.querySelectorAll("[data-node]")) {
    node.setAttribute("tabindex", "0");
    node.setAttribute("role", "button");
    node.setAttribute("aria-label", `run to state ${node.dataset.node}: ${node.querySelector("title")?.textContent ?? ""}`);
    const open = () => openRun(node.dataset.schedule, node.closest("figure"));
    node.addEventListener("click", open);
    node.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      open();
    });
  }
  return record;
}

// Shows the run to a state of a tree, below the tree. If states are chosen faster than their runs
// are computed, only the run to the last one is shown.
const chosen = { run: null, busy: false };
async function openRun(schedule, tree) {
  chosen.run = { schedule, tree };
  if (chosen.busy) return;
  chosen.busy = true;
  try {
    while (chosen.run) {
      const { schedule, tree } = chosen.run;
      chosen.run = null;
      await showRun(schedule, tree);
    }
  } finally {
    chosen.busy = false;
  }
}

async function showRun(schedule, tree) {
  tree.nextElementSibling?.classList.contains("opened") && tree.nextElementSibling.remove();
  const place = make("section", { className: "opened", ariaLabel: "The run to the state" }, "…");
  tree.after(place);
  const all = Array.from(tree.querySelectorAll("[data-schedule]"), (node) => node.dataset.schedule);
  if (!isCertain(schedule, all)) {
    place.replaceChildren(make("p", { textContent: "Which run leads to this state depends on unknown values: give them with --set, or use the runs above." }));
    return;
  }
  const kept = Object.fromEntries(Object.entries(options()).filter(([name]) => READING.includes(name) || name === "max-local"));
  const question = request("html", { command: "run", options: { ...kept, schedule } });
  const { code, out, err } = await state.checker.ask(question);
  if (code >= 3) place.replaceChildren(make("p", { className: "failed", textContent: err }));
  else showReport(place, out);
  place.prepend(make("h2", { textContent: schedule ? `The run ${schedule}` : "The initial state" }));
  place.scrollIntoView({ block: "nearest" });
}

async function search() {
  if (state.running) return;
  const bad = badName($("file").value);
  if (bad) {
    $("answer").replaceChildren(make("p", { className: "failed", textContent: bad }));
    return;
  }
  busy(true, "searching…");
  editor.step(0);
  const question = request("html");
  const text = editor.text;
  try {
    const { code, out, err } = await state.engine.ask(question, (line) => state.running && ($("progress").textContent = line));
    if (code >= 3 || out === "") {
      const message = err.trim() || `the command ended with code ${code}`;
      $("answer").replaceChildren(make("p", { className: "failed", textContent: message }));
    } else {
      const record = showReport($("answer"), out);
      performance.mark("verdict");
      if (editor.text === text) {
        editor.cover(record.coverage);
        if (record.warnings?.length) showMistakes(record.warnings);
      }
    }
    busy(false);
    outdated(editor.text !== text);
  } catch (error) {
    busy(false, error instanceof Cancelled ? "cancelled" : "");
    outdated(error instanceof Cancelled);
    if (!(error instanceof Cancelled)) $("answer").replaceChildren(make("p", { className: "failed", textContent: error.message }));
  }
}

// Shows the counts of each engine on this program.
async function compare() {
  if (state.running || badName($("file").value)) return;
  const explore = commandNamed("explore");
  const engines = explore.flags.find(({ name }) => name === "algorithm").choices;
  const given = (names) => Object.fromEntries(Object.entries(state.options).filter(([name, value]) => names.includes(name) && value && value.length !== 0));
  const kept = given([...READING, "memory"]);
  const columns = ["executions", "traces", "blocked", "states", "events", "steps", "seconds", "verdict"];
  const body = make("tbody");
  const head = ["engine", ...columns].map((text) => make("th", { scope: "col", textContent: text }));
  $("answer").replaceChildren(make("h2", { textContent: "Engines on this program" }),
    make("div", { className: "scroll" }, make("table", { className: "engines" }, make("thead", {}, make("tr", {}, ...head)), body)),
    make("p", { className: "dim", textContent: "Each engine has 10 s and 200 000 executions. – : the engine does not have this count." }));
  busy(true, "comparing…");
  try {
    for (const algorithm of engines) {
      $("progress").textContent = `exploring with ${algorithm}…`;
      const limits = { "time-limit": "10s", "max-executions": "200000", "memory-limit": state.options["memory-limit"] || LIMITS["memory-limit"] };
      const { code, out, err } = await state.engine.ask(request("json", { command: "explore", options: { ...kept, ...limits, ...(algorithm === "stateful" ? given(["fairness"]) : {}), algorithm } }));
      const record = code < 3 ? JSON.parse(out) : null;
      const cells = record ? columns.map((name) => {
        const value = record[name];
        return make("td", { textContent: value === null || value === undefined ? "–" : name === "seconds" ? value.toFixed(3) : String(value) });
      }) : [make("td", { colSpan: columns.length, textContent: err.trim() })];
      body.append(make("tr", {}, make("th", { scope: "row", textContent: algorithm }), ...cells));
    }
    busy(false);
  } catch (error) {
    busy(false, error instanceof Cancelled ? "cancelled" : error.message);
  }
}

async function share() {
  try {
    const link = await packed({ text: editor.text, file: $("file").value, command: $("command").value, options: options() });
    history.replaceState(null, "", link);
    await navigator.clipboard?.writeText(location.href).catch(() => {});
    $("progress").textContent = "the address of this page is now the link; it is copied if the browser allows that";
  } catch (error) {
    $("progress").textContent = error.message;
  }
}

function restore({ text, file, command, options }) {
  editor.text = text;
  $("file").value = file;
  if (commandNamed(command)) $("command").value = command;
  state.options = { ...LIMITS, ...options };
  showForm();
}

async function openExample(example) {
  const answer = await fetch(`examples/${example.file}`);
  restore({ text: await answer.text(), file: example.file, command: example.command ?? "check", options: example.options ?? {} });
  showMistakes([]);
}

// Shows a saved record, without running anything.
async function openRecord(file) {
  outdated(false);
  if (file.size > MOST_RECORD) {
    $("answer").replaceChildren(make("p", { className: "failed", textContent: "the record is larger than 64 MB: use `mazurka show`" }));
    return;
  }
  const text = await file.text();
  const shown = { command: "show", file: "record.json", files: { "record.json": text }, options: {}, format: "html" };
  const { code, out, err } = await state.checker.ask(shown);
  if (code >= 3 || out === "") $("answer").replaceChildren(make("p", { className: "failed", textContent: err }));
  else showReport($("answer"), out);
}

async function start() {
  const examples = fetch("examples.json").then((answer) => answer.json());
  const { engine, table } = await found;
  Object.assign(state, { engine, checker: engine.twin(), table });
  $("engine").textContent = `${table.version}, ${engine.name}`;
  editor = new Editor($("editor"), { keywords: table.keywords, changed: later });
  $("command").replaceChildren(...table.commands.map(({ name }) => make("option", { value: name, textContent: name })));

  let sent = null, refused = "";
  if (linked()) {
    try {
      sent = await unpacked(location.hash);
    } catch (error) {
      refused = error.message;
    }
  }
  if (sent) restore(sent);
  else restore({ text: (await counter) ?? (await (await fetch("examples/counter.maz")).text()), file: "counter.maz", command: "check", options: {} });

  $("form").addEventListener("submit", (event) => {
    event.preventDefault();
    search();
  });
  $("cancel").addEventListener("click", () => state.engine.cancel());
  $("compare").addEventListener("click", compare);
  $("share").addEventListener("click", share);
  $("command").addEventListener("change", showForm);
  $("file").addEventListener("input", () => (showWords(), later()));
  $("record").addEventListener("change", () => $("record").files[0] && openRecord($("record").files[0]));
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      search();
    }
    if (event.key === "Escape" && state.running) state.engine.cancel();
  });

  const all = await examples;
  $("example").replaceChildren(make("option", { value: "", textContent: "choose…" }),
    ...all.map(({ name, about }, number) => make("option", { value: number, textContent: about ? `${name}: ${about}` : name })));
  $("example").addEventListener("change", async () => {
    const chosen = all[$("example").value];
    if (!chosen) return;
    await openExample(chosen);
    search();
  });
  // The program of a link runs at once, with two exceptions: the link sets limits other than the
  // defaults, or the engine is a server, where a program must not run before its user requests it.
  const limits = sent ? Object.keys(LIMITS).filter((name) => state.options[name] !== LIMITS[name]) : [];
  const waits = sent && (engine.name.startsWith("native") || limits.length > 0);
  if (waits) $("progress").textContent = limits.length ? `this link sets ${limits.join(" and ")} itself: check them, then run the command` : "";
  else await search();
  if (refused) $("progress").textContent = `${refused}; counter.maz is shown instead`;
  // Another link was opened in the same tab.
  addEventListener("hashchange", () => linked() && location.reload());
  document.body.dataset.ready = "true";
}

start().catch((error) => {
  $("progress").textContent = error.message;
  document.body.dataset.ready = "failed";
});
