// A visitor's policy: the text is in an editor, Python is in a worker, and the page shows the findings.
"use strict";
addEventListener("DOMContentLoaded", () => {
  const KEPT_TEXT = "doorbuster.policy";
  const KEPT_SCORES = "doorbuster.policy-scores";
  const MOST_SCORES = 20;
  const template = json("policy-template");
  const submitting = json("submitting");
  const source = byId("worker").dataset.source;
  const mostSilenceS = Number(byId("worker").dataset.mostSilenceS);
  const ACTIONS = ["check", "run", "compare"];

  // ---- texts that the browser stores -------------------------------------------------------------------
  function kept(key, otherwise) {
    try {
      return JSON.parse(localStorage.getItem(key)) ?? otherwise;
    } catch {
      return otherwise; // the storage is missing, or has other content
    }
  }
  function keep(key, value) {
    try {
      localStorage.setItem(key, JSON.stringify(value));
      return true;
    } catch {
      return false;
    }
  }

  // ---- the editor -------------------------------------------------------------------------------
  const area = byId("source");
  const name = byId("name");
  const first = kept(KEPT_TEXT, { name: "my_policy", text: template });
  name.value = first.name;
  const { EditorView } = CodeMirror;
  const host = document.createElement("div");
  host.className = "cm-host";
  area.before(host);
  area.hidden = true;
  const { tags } = CodeMirror;
  const colours = CodeMirror.HighlightStyle.define([
    { tag: [tags.keyword, tags.operatorKeyword, tags.controlKeyword, tags.definitionKeyword], color: "var(--accent)", fontWeight: "600" },
    { tag: [tags.string, tags.special(tags.string)], color: "var(--good)" },
    { tag: tags.comment, color: "var(--soft)", fontStyle: "italic" },
    { tag: [tags.number, tags.bool, tags.null], color: "var(--bad)" },
    { tag: [tags.function(tags.variableName), tags.className], fontWeight: "600" },
  ]);
  const theme = EditorView.theme({
    "&": { height: "100%", fontSize: ".85rem", color: "var(--ink)", backgroundColor: "var(--card)" },
    "&.cm-focused": { outline: "none" },
    ".cm-scroller": { fontFamily: "ui-monospace, monospace", lineHeight: "1.5" },
    ".cm-content": { caretColor: "var(--ink)" },
    ".cm-cursor": { borderLeftColor: "var(--ink)" },
    ".cm-gutters": { backgroundColor: "var(--page)", color: "var(--soft)", border: "none" },
    ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "color-mix(in srgb, var(--accent) 3%, transparent)" },
    "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "color-mix(in srgb, var(--accent) 28%, transparent)" },
    ".cm-matchingBracket": { backgroundColor: "color-mix(in srgb, var(--good) 30%, transparent)" },
    ".cm-panels, .cm-tooltip": { backgroundColor: "var(--card)", color: "var(--ink)", borderColor: "var(--line)" },
    ".cm-diagnostic-error": { borderLeftColor: "var(--bad)" },
  });
  let saving;
  // Tab indents as soon as the user writes here. Before that, it moves to the buttons.
  let isWriting = false;
  const { run: more, shift: less } = CodeMirror.indentWithTab;
  const tab = { key: "Tab", run: (view) => isWriting && more(view), shift: (view) => isWriting && less(view) };
  const editor = new EditorView({
    parent: host,
    state: CodeMirror.EditorState.create({
      doc: first.text,
      extensions: [
        CodeMirror.lineNumbers(),
        CodeMirror.lintGutter(),
        CodeMirror.highlightActiveLine(),
        CodeMirror.highlightActiveLineGutter(),
        CodeMirror.history(),
        CodeMirror.drawSelection(),
        CodeMirror.indentUnit.of("    "),
        CodeMirror.indentOnInput(),
        CodeMirror.bracketMatching(),
        CodeMirror.search({ top: true }),
        CodeMirror.python(),
        CodeMirror.syntaxHighlighting(colours),
        theme,
        CodeMirror.keymap.of([...CodeMirror.defaultKeymap, ...CodeMirror.historyKeymap, ...CodeMirror.searchKeymap, ...CodeMirror.lintKeymap, tab]),
        EditorView.domEventHandlers({ blur: () => void (isWriting = false), click: () => void (isWriting = true) }),
        EditorView.contentAttributes.of({ tabindex: "0", "aria-label": "Source of the policy", "aria-describedby": "name-help", spellcheck: "false" }),
        EditorView.updateListener.of((update) => {
          if (!update.docChanged) return;
          isWriting = update.view.hasFocus; // not while a button replaces the file
          clearTimeout(saving);
          saving = setTimeout(save, 300);
        }),
      ],
    }),
  });
  const text = () => editor.state.doc.toString();
  const path = () => `own/${name.value}.py`;
  function save() {
    clearTimeout(saving);
    if (!keep(KEPT_TEXT, { name: name.value, text: text() })) set(byId("saves"), "This browser does not store the text. Save the file before you leave the page.");
  }
  function replaceText(newText) {
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: newText }, selection: { anchor: 0 }, scrollIntoView: true });
    mark([]);
    save();
  }
  function mark(marks) {
    const { doc } = editor.state;
    const diagnostics = marks
      .filter(({ line }) => line >= 1 && line <= doc.lines)
      .map(({ line, says }) => ({ from: doc.line(line).from, to: doc.line(line).to, severity: "error", message: says }));
    editor.dispatch(CodeMirror.setDiagnostics(editor.state, diagnostics));
  }
  function goTo(number) {
    const line = editor.state.doc.line(Math.min(number, editor.state.doc.lines));
    editor.dispatch({ selection: { anchor: line.from }, effects: EditorView.scrollIntoView(line.from, { y: "center" }) });
    editor.focus();
  }
  function lineButtons(marks) {
    return marks.map(({ line }) => quietButton(`Go to line ${line}`, () => goTo(line)));
  }

  // ---- Python -----------------------------------------------------------------------------------
  let worker;
  let asked = 0;
  let work = null; // {what, take, began}
  let silence;
  let isReady = false;
  function hush() {
    clearTimeout(silence);
    if (work) silence = setTimeout(() => end(`The policy did not respond for ${mostSilenceS} s, so the browser ended it${work.last ? ` after the line “${work.last}” of the check` : ""}. Does the policy have an endless loop?`), 1000 * mostSilenceS);
  }
  const missing = (why) => fail(`Python could not be loaded: ${why}. Load the page again.`);
  function start() {
    isReady = false;
    buttons();
    worker = new Worker(source, { type: "module" });
    worker.addEventListener("message", ({ data }) => {
      if (data.id !== asked) return;
      if (data.part) {
        hush();
        work?.take(data.part);
        return;
      }
      if (!isReady) {
        isReady = !data.fault;
        if (data.fault) missing(data.fault);
        else if (byId("fault").hidden) set(byId("state"), "Ready.");
      } else {
        clearTimeout(silence);
        if (data.fault) fail(data.fault);
        else if (byId("fault").hidden) set(byId("state"), `Done in ${format((performance.now() - work.began) / 1000, 1)} s.`);
        work = null;
      }
      buttons();
    });
    worker.addEventListener("error", (event) => missing(event.message ?? "the worker failed"));
    worker.postMessage({ id: ++asked, load: json("addresses") });
  }
  function end(why) {
    clearTimeout(silence);
    worker.terminate();
    work = null;
    fail(why);
    start();
  }
  function fail(words, marks = []) {
    set(byId("state"), "");
    byId("fault").replaceChildren(words, ...(marks.length ? [" ", ...lineButtons(marks)] : []));
    byId("fault").hidden = false;
    mark(marks);
  }
  function buttons() {
    for (const id of ACTIONS) byId(id).disabled = !isReady || work !== null;
    byId("stop").hidden = work === null;
  }
  // Store the text and show which task begins; return false if the file name is invalid.
  function began(words) {
    if (!name.checkValidity() || !name.value) {
      fail("File: must be 1 to 40 lower-case letters, digits and _, beginning with a letter, for example quiet_door.");
      name.focus();
      return false;
    }
    save();
    mark([]);
    byId("fault").hidden = true;
    set(byId("state"), words);
    return true;
  }
  function ask(what, words, texts, take) {
    if (!began(words)) return;
    work = { what, take, began: performance.now(), last: "" };
    worker.postMessage({ id: ++asked, call: { name: what, texts: [path(), text(), ...texts] } });
    hush();
    buttons();
  }
  const day = () => valuesOf(byId("day"));

  // ---- check ------------------------------------------------------------------------------------
  byId("check").addEventListener("click", () => {
    const marks = [];
    byId("findings").replaceChildren();
    byId("checked").hidden = false;
    ask("check", "Checking …", [], ({ finding, valid }) => {
      if (finding) {
        const item = document.createElement("li");
        item.className = finding.holds ? "holds" : "fails";
        const head = document.createElement("strong");
        head.textContent = `${finding.holds ? "✓" : "✗"} ${finding.check}`;
        const says = document.createElement("span");
        says.className = "says";
        says.textContent = finding.says;
        item.append(head, " ", says);
        if (finding.marks.length) item.append(document.createElement("br"), ...lineButtons(finding.marks));
        byId("findings").append(item);
        marks.push(...finding.marks);
        work.last = finding.check;
      } else if (!valid) {
        fail(marks.length ? "The policy is not ready yet: the lines are marked in the editor." : "The policy is not ready yet: see the line marked ✗.");
        mark(marks);
      }
    });
  });

  // ---- run --------------------------------------------------------------------------------------
  let charts = [];
  function fallBack(found) {
    if (found) fail(`The policy stopped working at ${format(found.at_s, 1)} s, and FIFO replaced it until the end of the run: ${found.says}`, found.marks);
  }
  byId("run").addEventListener("click", () => {
    const chosen = day();
    ask("run", "Simulating …", [JSON.stringify(chosen)], ({ run, fault }) => {
      if (fault) {
        fail(fault.says, fault.marks);
        return;
      }
      const { metrics, samples } = run;
      byId("ran").hidden = false;
      set(byId("ran-verdict"), `${path()} sold ${format(metrics.confirms)}. At most ${format(metrics.confirm_bound, 1)} sales were possible.`);
      fillRows(byId("metrics"), metricRows([metrics]));
      for (const plot of charts) plot.destroy();
      const series = [{ label: name.value, colour: style("--accent") }];
      const saved = () => ({ note: `Simulated in a browser: ${byId("command").textContent}`, file: [name.value, `rho ${chosen.rho}`] });
      charts = [
        ["chart-waiting", "waiting"],
        ["chart-confirms", "confirms_total"],
      ].map(([id, column]) => redrawn(byId(id), [samples.time_s, samples[column]], series, saved));
      set(byId("command"), `make simulate ARGS="--policies ${path()} --rho ${chosen.rho} --sessions ${chosen.sessions} --repetitions 1 --seed ${chosen.seed}"`);
      fallBack(run.fallen_back);
    });
  });

  // ---- comparison -------------------------------------------------------------------------------
  const title = { "8q-lifo-pri": "8Q-LIFO-Pri", "door-lifo": "DOOR-LIFO" };
  byId("compare").addEventListener("click", () => {
    const chosen = day();
    const compared = { name: name.value, text: text() };
    ask("compare", "Comparing …", [JSON.stringify(chosen)], ({ progress, comparison, fault }) => {
      if (fault) {
        fail(fault.says, fault.marks);
        return;
      }
      if (progress) {
        set(byId("state"), `Comparing: ${progress.done} of ${progress.of} runs.`);
        return;
      }
      const [own, ...others] = comparison.rows;
      byId("compared").hidden = false;
      set(byId("compared-verdict"), verdict(own, others));
      fillRows(byId("comparison"), [[path(), own.efficiency, format(own.confirms), "–"], ...others.map((one) => [title[one.policy], one.efficiency, format(one.confirms), one.difference])]);
      const row = { ...compared, when: new Date().toISOString(), rho: chosen.rho, sessions: chosen.sessions, mean: own.mean, efficiency: own.efficiency, differences: others.map(({ difference }) => difference) };
      const scores = [row, ...kept(KEPT_SCORES, [])].slice(0, MOST_SCORES);
      while (scores.length && !keep(KEPT_SCORES, scores)) scores.pop();
      showScores();
      fallBack(comparison.fallen_back);
    });
  });
  function verdict(own, others) {
    const words = others.map((one) => {
      if (one.is_better) return `more than ${title[one.policy]}`;
      if (one.is_worse) return `less than ${title[one.policy]}`;
      return `not measurably more or less than ${title[one.policy]}`;
    });
    return `Your policy sells ${words.join(" and ")} (efficiency ${own.efficiency}).`;
  }

  // ---- the private scoreboard -------------------------------------------------------------------
  function showScores() {
    const scores = kept(KEPT_SCORES, []).sort((a, b) => b.mean - a.mean);
    byId("no-scores").hidden = scores.length > 0;
    byId("scores-table").hidden = byId("clear").hidden = scores.length === 0;
    fillRows(byId("scores"), scores.map((one) => [`${one.name}.py`, new Date(one.when).toLocaleString("en-GB", { dateStyle: "short", timeStyle: "short" }), one.rho, format(one.sessions), one.efficiency, ...one.differences]));
    scores.forEach((one, number) => {
      const button = quietButton("Open", () => {
        name.value = one.name;
        replaceText(one.text);
        editor.focus();
      });
      button.setAttribute("aria-label", `Open the text of ${one.name}.py, efficiency ${one.efficiency}`);
      byId("scores").rows[number].insertCell().append(button);
    });
  }

  // ---- the class's scoreboard -------------------------------------------------------------------
  const marksIn = (words) => [...words.matchAll(/\bline (\d+):?([^;]*)/g)].map(([all, line]) => ({ line: Number(line), says: all }));
  byId("submit").addEventListener("click", async () => {
    if (!began("Submitting …")) return;
    const { "X-CSRFToken": token } = JSON.parse(document.body.getAttribute("hx-headers"));
    byId("submit").disabled = true;
    try {
      const answer = await fetch(submitting.address, {
        method: "POST",
        headers: { "Content-Type": "application/json", "X-CSRFToken": token },
        body: JSON.stringify({ name: name.value, text: text() }),
      });
      const told = await answer.json();
      if (answer.ok) {
        set(byId("state"), `${name.value}.py is submitted: see “Your submissions” below.`);
        htmx.trigger(document.body, "submitted");
      } else {
        fail(`Not submitted. ${told.error.replace(/^text: /, "")}`, marksIn(told.error));
      }
    } catch {
      fail("Not submitted: the console does not answer. Your browser keeps the text. Try again later.");
    }
    byId("submit").disabled = false;
  });
  document.addEventListener("click", ({ target }) => {
    const { line, name: of } = target.dataset ?? {};
    if (!line || !of) return;
    if (of === name.value) goTo(Number(line));
    else fail(`Line ${line} is in ${of}.py. The editor now shows ${name.value}.py.`);
  });

  // ---- actions of the visitor ----------------------------------------------------------------------
  byId("stop").addEventListener("click", () => end("You stopped the task."));
  byId("template").addEventListener("click", () => {
    if (confirm("Replace the text with the template? You will lose the text unless you have saved it or it is on your private scoreboard.")) {
      name.value = "my_policy";
      replaceText(template);
    }
  });
  const asName = (file) => file.replace(/\.py$/, "").toLowerCase().replace(/[^a-z0-9_]/g, "_").replace(/^[^a-z]+/, "").slice(0, 40) || "my_policy";
  async function unreadable(file) {
    if (!file.name.endsWith(".py")) return "its name must end in .py.";
    if (file.size > submitting.most_bytes) return `it has ${format(file.size)} bytes; allowed: at most ${format(submitting.most_bytes)}.`;
    try {
      new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
    } catch {
      return "it must be text in UTF-8.";
    }
    return "";
  }
  byId("open").addEventListener("click", () => byId("file").click());
  byId("file").addEventListener("change", async () => {
    const [file] = byId("file").files;
    if (!file) return;
    byId("file").value = "";
    const why = await unreadable(file);
    if (why) {
      fail(`${file.name}: ${why}`);
      return;
    }
    name.value = asName(file.name);
    byId("fault").hidden = true;
    replaceText(await file.text());
    set(byId("state"), `${file.name} is in the editor.`);
  });
  byId("save").addEventListener("click", () => download(new Blob([text()], { type: "text/x-python" }), `${name.value}.py`));
  byId("clear").addEventListener("click", () => {
    if (!confirm("Remove all rows of your private scoreboard, with their texts?")) return;
    keep(KEPT_SCORES, []);
    showScores();
  });
  name.addEventListener("input", save);
  function showDay() {
    showSliders(byId("day"));
    const { rho, sessions, seed } = day();
    set(byId("day-words"), `ρ = ${rho}, ${format(sessions)} customers, seed ${seed}`);
  }
  byId("day").addEventListener("input", showDay);
  byId("day").addEventListener("submit", (event) => event.preventDefault());
  showDay();
  showScores();
  start();
});
