// Steps through the runs of a record: forward and back, with the shared variables beside them.
// Reports carry this script, and the page loads it. It reads the record, makes elements and sets
// texts; it never reads markup from a string.
const MazurkaView = (() => {
  "use strict";

  const make = (name, properties = {}, ...children) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(properties)) {
      if (key in element) element[key] = value;
      else element.setAttribute(key, value);
    }
    element.append(...children);
    return element;
  };

  // What a JSON pointer names.
  const at = (record, pointer) =>
    pointer.split("/").slice(1).reduce((value, key) => value?.[key], record);

  // The elements of `[1, [2, 3]]`; none if it is no list.
  const elements = (list) => {
    if (!list.startsWith("[") || !list.endsWith("]")) return null;
    const all = [];
    let depth = 0, text = "";
    for (const sign of list.slice(1, -1)) {
      if (sign === "," && depth === 0) {
        all.push(text.trim());
        text = "";
        continue;
      }
      if ("[({".includes(sign)) depth++;
      if ("])}".includes(sign)) depth--;
      text += sign;
    }
    if (text.trim() !== "") all.push(text.trim());
    return all;
  };

  // A list with another element at `[1][0]`; null if there is no such element.
  const replaced = (list, path, value) => {
    if (path === "") return value;
    const [, index, rest] = /^\[(\d+)\](.*)$/s.exec(path) ?? [];
    const all = index === undefined ? null : elements(list);
    if (!all || Number(index) >= all.length) return null;
    const inner = replaced(all[index], rest, value);
    if (inner === null) return null;
    all[index] = inner;
    return `[${all.join(", ")}]`;
  };

  // The variable that a name is a part of: `a` of `a[1]`.
  const owner = (values, name) => {
    const base = name.split("[")[0];
    return !values.has(name) && values.has(base) ? base : name;
  };

  const assign = (values, name, value) => {
    const base = owner(values, name);
    const whole = base === name ? null : replaced(values.get(base), name.slice(base.length), value);
    if (whole === null) values.set(name, value);
    else values.set(base, whole);
  };

  // The variables after so many steps: from the end of the run, changes are taken back.
  const stateAfter = (run, count) => {
    const values = new Map((run.state ?? []).map(({ name, value }) => [name, value]));
    for (let step = run.steps.length - 1; step >= count; step--) {
      for (const { name, from } of (run.steps[step].changes ?? []).toReversed()) assign(values, name, from);
    }
    return values;
  };

  // The locks that are held after so many steps, each with its process.
  const heldAfter = (run, count) => {
    const held = new Map();
    for (const { process, locks = [] } of run.steps.slice(0, count)) {
      for (const lock of locks) {
        if (lock.held) held.set(lock.name, process);
        else held.delete(lock.name);
      }
    }
    return held;
  };

  const nameOf = (run, process) =>
    (run.names ?? []).find(([number]) => number === process)?.[1] ?? process;

  // One step in words.
  const told = (run, number) => {
    if (number === 0) return `before the first of ${run.steps.length} steps`;
    const step = run.steps[number - 1];
    const where = step.line > 0 ? `, line ${step.line}` : "";
    return `step ${number} of ${run.steps.length}${where}: ${nameOf(run, step.process)}: ${step.label}`;
  };

  // Puts controls under the caption of a figure. `line` is told where each step stands.
  const attach = (figure, run, { line = () => {} } = {}) => {
    if (!run?.steps?.length) return null;
    const picture = figure.querySelector(".picture");
    const steps = run.steps;
    const racing = steps.flatMap((step, k) => (step.racing ? [k + 1] : []));
    let now = steps.length;
    const output = make("output", { ariaLive: "polite" });
    const button = (text, label, go) =>
      make("button", { type: "button", textContent: text, ariaLabel: label, title: label, onclick: go });
    const first = button("|◀", "to the start of the run", () => show(0));
    const back = button("◀", "one step back", () => show(now - 1));
    const forth = button("▶", "one step forward", () => show(now + 1));
    const last = button("▶|", "to the end of the run", () => show(steps.length));
    const links = make("span", { className: "races" });
    const bar = make("div", { className: "steps", role: "group", ariaLabel: "steps of the run" },
      first, back, forth, last, output, links);
    const table = make("table", { className: "values" });
    figure.insertBefore(bar, picture);
    figure.append(table);

    const show = (number, tell = true) => {
      now = Math.max(0, Math.min(steps.length, number));
      const step = steps[now - 1];
      output.textContent = told(run, now);
      if (step?.mishap) output.append(make("strong", { className: "bad", textContent: ` ✗ ${step.mishap}` }));
      for (const text of step?.printed ?? []) output.append(` prints ${text}`);
      first.disabled = back.disabled = now === 0;
      last.disabled = forth.disabled = now === steps.length;
      links.replaceChildren();
      const others = step?.racing ? racing.filter((other) => other !== now) : [];
      if (others.length) {
        links.append("⇄ races with ");
        others.forEach((other, k) => links.append(k ? ", " : "",
          make("button", { type: "button", className: "link", textContent: `step ${other}`, onclick: () => show(other) })));
      } else if (racing.length) {
        links.append("racing: ");
        racing.forEach((other, k) => links.append(k ? ", " : "",
          make("button", { type: "button", className: "link", textContent: `step ${other}`, onclick: () => show(other) })));
      }
      for (const box of picture.querySelectorAll("[data-step]")) {
        const own = Number(box.dataset.step);
        box.classList.toggle("now", own === now);
        box.classList.toggle("later", own > now);
        if (own === now && tell) box.scrollIntoView({ block: "nearest", inline: "nearest" });
      }
      const values = stateAfter(run, now);
      const changed = new Set((step?.changes ?? []).map((change) => owner(values, change.name)));
      for (const lock of step?.locks ?? []) changed.add(lock.name);
      for (const [name, process] of heldAfter(run, now)) values.set(name, `held by ${nameOf(run, process)}`);
      const rows = [...values].map(([name, value]) =>
        make("tr", { className: changed.has(name) ? "changed" : "" },
          make("th", { scope: "row", textContent: name }), make("td", { textContent: value })));
      table.replaceChildren(
        make("thead", {}, make("tr", {}, make("th", { scope: "col", textContent: "shared variable" }),
          make("th", { scope: "col", textContent: now === 0 ? "at the start" : `after step ${now}` }))),
        make("tbody", {}, ...rows));
      table.hidden = rows.length === 0;
      if (tell) line(step?.line ?? 0);
    };

    figure.addEventListener("keydown", (event) => {
      const goal = { ArrowLeft: now - 1, ArrowUp: now - 1, ArrowRight: now + 1, ArrowDown: now + 1, Home: 0, End: steps.length }[event.key];
      if (goal === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      show(goal);
    });
    picture.addEventListener("click", (event) => {
      const box = event.target.closest("[data-step]");
      if (box) show(Number(box.dataset.step));
    });
    show(steps.length, false);
    return { show, get now() { return now; } };
  };

  // What differs at the end of two runs.
  const differences = (witness) => {
    if (!witness?.differs?.length) return null;
    const head = ["what differs at the end", "one run", "the other run"];
    return make("table", { className: "values differs" },
      make("thead", {}, make("tr", {}, ...head.map((text) => make("th", { scope: "col", textContent: text })))),
      make("tbody", {}, ...witness.differs.map(({ name, first, second }) =>
        make("tr", { className: "changed" }, make("th", { scope: "row", textContent: name }),
          make("td", { textContent: first }), make("td", { textContent: second })))));
  };

  // Every figure of a run below an element gets its controls.
  const attachAll = (root, record, options) => {
    for (const figure of root.querySelectorAll("figure[data-run]")) {
      attach(figure, at(record, figure.dataset.run), options);
    }
    for (const group of root.querySelectorAll(".figures")) {
      const pointer = group.querySelector("figure[data-run]")?.dataset.run ?? "";
      const witness = pointer.startsWith("/witnesses/") ? at(record, pointer.split("/runs/")[0]) : null;
      const table = differences(witness);
      if (table) group.after(table);
    }
  };

  // A report: its record stands in the document.
  const report = () => {
    const record = JSON.parse(document.getElementById("record").textContent);
    const line = (number) => {
      for (const marked of document.querySelectorAll("ol.source li.now")) marked.classList.remove("now");
      document.getElementById(`L${number}`)?.classList.add("now");
    };
    attachAll(document, record, { line });
  };

  return { at, attach, attachAll, differences, make, report, stateAfter };
})();
