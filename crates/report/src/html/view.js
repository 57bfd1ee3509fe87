// Steps through the runs of a record: forward and back, with the shared variables beside them.
// Reports contain this script, and the page loads it. It reads the record, makes elements and sets
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

  // Returns the value at a JSON pointer.
  const at = (record, pointer) =>
    pointer.split("/").slice(1).reduce((value, key) => value?.[key], record);

  // Returns the elements of a list such as `[1, [2, 3]]`; null if the text is not a list.
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

  // Returns a list with a new element at a path such as `[1][0]`; null if there is no such element.
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

  // Returns the variable that a name is a part of: `a` for `a[1]`.
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

  // Returns the variables after `count` steps, by undoing changes from the end of the run.
  const stateAfter = (run, count) => {
    const values = new Map((run.state ?? []).map(({ name, value }) => [name, value]));
    for (let step = run.steps.length - 1; step >= count; step--) {
      for (const { name, from } of (run.steps[step].changes ?? []).toReversed()) assign(values, name, from);
    }
    return values;
  };

  // Returns the locks that are held after `count` steps, each with its process.
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

  // Describes a step in words.
  const described = (run, number) => {
    if (number === 0) return `before the first of ${run.steps.length} steps`;
    const step = run.steps[number - 1];
    const where = step.line > 0 ? `, line ${step.line}` : "";
    return `step ${number} of ${run.steps.length}${where}: ${nameOf(run, step.process)}: ${step.label}`;
  };

  // Puts controls under the caption of a figure. `line` gets the source line of each shown step.
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
      output.textContent = described(run, now);
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

  // Returns a table of what differs at the end of two runs.
  const differences = (witness) => {
    if (!witness?.differs?.length) return null;
    const head = ["what differs at the end", "one run", "the other run"];
    return make("table", { className: "values differs" },
      make("thead", {}, make("tr", {}, ...head.map((text) => make("th", { scope: "col", textContent: text })))),
      make("tbody", {}, ...witness.differs.map(({ name, first, second }) =>
        make("tr", { className: "changed" }, make("th", { scope: "row", textContent: name }),
          make("td", { textContent: first }), make("td", { textContent: second })))));
  };

  // Adds controls to every figure of a run below an element.
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
    for (const tree of root.querySelectorAll(".tree")) outline(tree, options);
  };

  // A large tree as data: for each state its children, and how many of the runs that go through it
  // have each ending. State 0 is the initial one. `states[at - 1]` describes state `at`: its
  // parent, the index of its step, and its ending: 0 for none, else an index from 1.
  const treeOf = ({ steps, endings, states }) => {
    const count = states.length + 1, kinds = endings.length + 1;
    const first = new Int32Array(count).fill(-1), next = new Int32Array(count).fill(-1);
    const ends = new Int32Array(count * kinds);
    const parent = (at) => states[at - 1][0];
    for (let at = count - 1; at > 0; at--) {
      const [before, , ending] = states[at - 1];
      next[at] = first[before];
      first[before] = at;
      if (ending) ends[at * kinds + ending]++;
      for (let kind = 1; kind < kinds; kind++) ends[before * kinds + kind] += ends[at * kinds + kind];
    }
    const ending = (at) => (at ? states[at - 1][2] : 0);
    const words = (at) => {
      const [process, label, mishap] = steps[states[at - 1][1]];
      return `${process}: ${label}${mishap ? ` ✗ ${mishap}` : ""}${ending(at) ? ` → ${endings[ending(at) - 1]}` : ""}`;
    };
    const path = (at) => {
      const all = [];
      for (let now = at; now > 0; now = parent(now)) all.push(now);
      return all.reverse();
    };
    const below = (at) => endings.map((name, k) => [ends[at * kinds + k + 1], name]).filter(([n]) => n)
      .map(([n, name]) => `${n} ${name}`).join(", ");
    return {
      count, ending, words, path, below, endings,
      children: (at) => {
        const all = [];
        for (let child = first[at]; child >= 0; child = next[child]) all.push(child);
        return all;
      },
      isFirst: (at) => first[parent(at)] === at,
      schedule: (at) => path(at).map((now) => steps[states[now - 1][1]][0]).join(" "),
    };
  };

  const ROWS = 200;

  // A tree that folds: a run is a list of steps, and where the search has taken other steps, these
  // are folded below the step. Rows are made when they are unfolded. `open` shows the run to a
  // state.
  const outline = (place, { open }) => {
    const tree = treeOf(JSON.parse(place.querySelector("script").textContent));
    const rows = new Map(), folds = new Map(), lists = new Map();
    const shown = make("output", { ariaLive: "polite" });
    const choose = (at) => {
      for (const row of place.querySelectorAll(".row.now")) row.classList.remove("now");
      rows.get(at)?.classList.add("now");
      const schedule = tree.schedule(at);
      shown.textContent = `--schedule "${schedule}"`;
      open?.(schedule, place);
    };
    const row = (at) => {
      const made = make("button", { type: "button", className: `row ${tree.endings[tree.ending(at) - 1] ?? ""}`, textContent: tree.words(at), onclick: () => choose(at) });
      rows.set(at, made);
      return make("li", {}, made);
    };
    const fold = (at) => {
      const details = make("details", {}, make("summary", { textContent: `or ${tree.words(at)} (${tree.below(at)})` }));
      details.addEventListener("toggle", () => details.open && fill(details, at));
      folds.set(at, details);
      return make("li", {}, details);
    };
    // Lists the run from a state on; a button at the end of the list adds more steps.
    const fill = (into, start) => {
      if (lists.has(start)) return;
      const list = make("ol");
      const more = make("button", { type: "button", className: "link", textContent: "more steps…", onclick: () => grow() });
      let at = start, instead = [];
      const grow = () => {
        for (let made = 0; made < ROWS && at >= 0; made++) {
          if (at > 0) list.append(row(at));
          list.append(...instead.map(fold));
          const [child, ...others] = tree.children(at);
          instead = others;
          at = child ?? -1;
        }
        more.hidden = at < 0;
        return at >= 0;
      };
      lists.set(start, grow);
      grow();
      into.append(list, more);
    };
    // Unfolds the path to a state.
    const reveal = (goal) => {
      let grow = lists.get(0);
      for (const at of tree.path(goal)) {
        if (tree.isFirst(at)) while (!rows.has(at) && grow());
        else {
          while (!folds.has(at) && grow());
          const details = folds.get(at);
          details.open = true;
          fill(details, at);
          grow = lists.get(at);
        }
      }
      rows.get(goal)?.scrollIntoView({ block: "center" });
      rows.get(goal)?.focus();
      choose(goal);
    };
    const jumps = tree.endings.map((name, k) => {
      let last = 0;
      const find = (from) => {
        for (let at = from; at < tree.count; at++) if (tree.ending(at) === k + 1) return at;
        return 0;
      };
      if (!find(1)) return null;
      return make("button", { type: "button", textContent: `next ${name}`, onclick: () => {
        last = find(last + 1) || find(1);
        reveal(last);
      } });
    });
    place.append(make("p", { className: "facts", textContent: `${tree.count} states; runs: ${tree.below(0)}` }),
      make("div", { className: "steps", role: "group", ariaLabel: "find a run" }, ...jumps.filter(Boolean), shown));
    fill(place, 0);
    return { reveal };
  };

  // Starts a report, whose record is in the document.
  const report = () => {
    const record = JSON.parse(document.getElementById("record").textContent);
    const line = (number) => {
      for (const marked of document.querySelectorAll("ol.source li.now")) marked.classList.remove("now");
      document.getElementById(`L${number}`)?.classList.add("now");
    };
    attachAll(document, record, { line });
  };

  return { at, attach, attachAll, differences, make, outline, report, stateAfter, treeOf };
})();
