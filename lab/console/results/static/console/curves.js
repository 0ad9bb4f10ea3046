// The curves of one result, or of several overlaid results. The server computes all numbers. The
// address of the page contains the choices, so that a link shows the same curves again.
"use strict";
addEventListener("DOMContentLoaded", async () => {
  const section = document.querySelector(".curves");
  if (!section) return;
  const sources = json("sources");
  const state = byId("curves-state");
  const chosen = new URL(location.href).searchParams;

  const results = await Promise.all(
    sources.map(async (source) => {
      try {
        const answer = await fetch(source.url);
        return { source, ...(await answer.json()) };
      } catch {
        return { source, error: "The console does not answer." };
      }
    }),
  );
  const faults = results.filter((one) => one.error).map((one) => `${one.source.title}: ${one.error}`);
  const whole = results.filter((one) => !one.error && one.lines.length);
  state.textContent = faults.join(" ") || (whole.length ? "" : "This result has no complete run yet.");
  if (!whole.length) return;
  byId("curve-choice").hidden = false;
  const several = sources.length > 1;

  // ---- choices ----
  const policies = [...new Set(whole.flatMap((one) => one.lines.map((line) => line.policy)))];
  const loads = [...new Set(whole.flatMap((one) => one.lines.map((line) => line.load)))];
  const common = loads.findLast((load) => whole.every((one) => one.lines.some((line) => line.load === load)));
  const pages = [...new Set(whole.flatMap((one) => one.lines.flatMap((line) => Object.keys(line.attempts))))];
  const shared = pages.filter((page) => whole.every((one) => one.lines.some((line) => page in line.above)));
  const highest = (one) => one.lines.reduce((most, line) => (line.rho > most.rho ? line : most)).load;
  const HIGHEST = "the highest load of each result";
  const group = (one, policy) => `${one.source.name}/${policy}`;
  // At first, a result with many policies (a board) shows only policies that another result has, too.
  const isNew = !["page", "load", "against", "hide"].some((name) => chosen.has(name));
  const crowded = (one) => several && new Set(one.lines.map((line) => line.policy)).size > 8;
  const isElsewhere = (one, policy) => whole.some((other) => other !== one && other.lines.some((line) => line.policy === policy));
  const lines = whole.flatMap((one, place) =>
    [...new Map(one.lines.map((line) => [line.policy, line]))].map(([policy, { title, colour }]) => ({
      key: group(one, policy),
      result: one,
      policy,
      title: several ? `${one.source.title}: ${title}` : title,
      colour, // the policy's own, everywhere
      // With several results, each result has a dash; with one result, each policy has a dash.
      dash: lineDash(several ? place : policies.indexOf(policy)),
      shown: isNew ? !(crowded(one) && !isElsewhere(one, policy)) : !chosen.getAll("hide").includes(group(one, policy)),
    })),
  );

  const pageNames = json("page-names");
  function options(select, values, wanted, words) {
    for (const value of values) select.add(new Option(words(value), value, false, value === wanted));
    select.value = values.includes(wanted) ? wanted : values[0];
    select.closest("label").hidden = values.length < 2;
  }
  options(byId("page"), pages, chosen.get("page") ?? (shared.includes("Br-1") ? "Br-1" : shared[0] ?? pages[0]), (page) => pageNames[page] ?? page);
  options(byId("load"), several && loads.length > 1 ? [...loads, HIGHEST] : loads, chosen.get("load") ?? common ?? HIGHEST, (load) => load || "closed loop");
  const figures = [...new Map(whole.flatMap((one) => one.against_rho.map((figure) => [figure.key, figure.words])))];
  options(byId("against"), figures.map(([key]) => key), chosen.get("against") ?? figures[0]?.[0], (key) => new Map(figures).get(key));
  byId("against").closest("label").hidden = false;
  byId("rho-figure").hidden = !figures.length;

  for (const line of lines) {
    const label = document.createElement("label");
    const box = Object.assign(document.createElement("input"), { type: "checkbox", checked: line.shown });
    box.addEventListener("change", () => {
      line.shown = box.checked;
      draw();
    });
    const swatch = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    swatch.setAttribute("class", "swatch");
    swatch.setAttribute("aria-hidden", "true");
    swatch.innerHTML = `<line x1="0" y1="6" x2="40" y2="6" stroke="${line.colour}" stroke-width="3" stroke-dasharray="${line.dash.join(" ")}"/>`;
    line.value = Object.assign(document.createElement("span"), { className: "value" });
    label.className = "choice";
    const words = document.createElement("span");
    words.append(line.title, line.value);
    label.append(box, swatch, words);
    byId("lines").append(label);
  }
  for (const select of ["page", "load", "against"]) byId(select).addEventListener("change", () => draw());
  byId("curve-choice").addEventListener("submit", (event) => event.preventDefault());

  // ---- drawing ----
  const axis = (label, more) => ({ ...AXIS, label, labelSize: 20, ...more });
  let plots = [];

  function readout(plot, drawn) {
    const at = plot.cursor.idx;
    for (const line of lines) line.value.textContent = "";
    if (at == null) return;
    drawn.forEach(({ line, place, words }) => {
      const value = plot.data[place][at];
      if (value != null) line.value.textContent = ` ${words(value, plot.data[0][at])}`;
    });
  }

  function add(element, data, series, bands, axes, scales, drawn, plugins = []) {
    const plot = new uPlot(
      {
        width: element.clientWidth,
        height: curveHeight(element),
        legend: { show: false },
        cursor: { drag: { x: false, y: false }, y: false },
        scales: { x: { time: false, ...scales.x }, y: scales.y },
        axes,
        series: [{}, ...series],
        bands,
        plugins,
        hooks: { setCursor: [(u) => readout(u, drawn)] },
      },
      data,
      element,
    );
    plots.push([plot, element]);
    return plot;
  }

  const shown = () => lines.filter((line) => line.shown);
  const parts = () =>
    shown().flatMap((line) =>
      line.result.lines.filter((one) => one.policy === line.policy && one.load === (byId("load").value === HIGHEST ? highest(line.result) : byId("load").value)).map((one) => ({ line, one })),
    );
  const unanswered = (value, at) => `${percent(value, 1)} at ${fixed(at, 2)} s`;

  function above() {
    const page = byId("page").value;
    const data = [whole[0].times_s];
    const series = [];
    const bands = [];
    const drawn = [];
    for (const { line, one } of parts()) {
      const curve = one.above[page];
      if (!curve) continue;
      drawn.push({ line, place: data.length, words: unanswered });
      data.push(curve.mean);
      series.push({ label: line.title, stroke: line.colour, width: 2.5, dash: line.dash, points: { show: false } });
      if (curve.low[0] === null) continue;
      bands.push({ series: [data.length, data.length + 1], fill: `${line.colour}33` });
      data.push(curve.high, curve.low);
      for (let i = 0; i < 2; i += 1) series.push({ stroke: "transparent", width: 0, points: { show: false } });
    }
    const ratio = axis("share of attempts", { size: 56, values: (u, ticks) => ticks.map((tick) => percent(tick)) });
    add(byId("above"), data, series, bands, [axis("t, paper seconds"), ratio], { x: {}, y: { range: [0, 1.02] } }, drawn);
  }

  function histogram() {
    const page = byId("page").value;
    const bins = whole[0].times_s.filter((time) => Number.isInteger(time)).slice(0, -1);
    const data = [bins];
    const series = [];
    const drawn = [];
    for (const { line, one } of parts()) {
      if (!one.histogram[page]) continue;
      drawn.push({ line, place: data.length, words: (value, at) => `${percent(value, 1)} from ${at} to ${at + 1} s` });
      data.push(one.histogram[page]);
      series.push({ label: line.title, isStepped: true, stroke: line.colour, fill: `${line.colour}1c`, width: 2, dash: line.dash, paths: uPlot.paths.stepped({ align: 1 }), points: { show: false } });
    }
    const ratio = axis("share of attempts", { size: 56, values: (u, ticks) => ticks.map((tick) => `${+(100 * tick).toFixed(1)} %`) });
    add(byId("histogram"), data, series, [], [axis("response time, paper seconds"), ratio], { x: {}, y: { range: (u, low, high) => [0, Math.max(0.02, high * 1.1)] } }, drawn);
  }

  function againstRho() {
    const key = byId("against").value;
    const drawnLines = shown().flatMap((line) => {
      const figure = line.result.against_rho.find((one) => one.key === key);
      const found = figure?.lines.find((one) => one.policy === line.policy);
      return found ? [{ line, points: found.points }] : [];
    });
    const rhos = [...new Set(drawnLines.flatMap(({ points }) => points.map((point) => point.rho)))].sort((a, b) => a - b);
    const data = [rhos, ...drawnLines.map(({ points }) => rhos.map((rho) => points.find((point) => point.rho === rho)?.mean ?? null))];
    const series = drawnLines.map(({ line }) => ({ label: line.title, stroke: line.colour, width: 2.5, dash: line.dash, spanGaps: true, points: { show: true, size: 9, fill: line.colour } }));
    const top = Math.max(0, ...drawnLines.flatMap(({ points }) => points.map((point) => point.high ?? point.mean)));
    const intervals = drawnLines.map(({ line, points }) => ({ colour: line.colour, intervals: points.filter(({ low }) => low !== null).map(({ rho, low, high }) => [rho, low, high]) }));
    const drawn = drawnLines.map(({ line }, place) => ({ line, place: place + 1, words: (value, rho) => `${value.toPrecision(3)} at ρ = ${rho}` }));
    add(
      byId("against-rho"), data, series, [],
      [axis("offered load ρ", { splits: () => rhos, values: (u, ticks) => ticks.map(String) }), axis(undefined, { size: 62 })],
      { x: { range: () => [rhos[0] - 0.15, rhos.at(-1) + 0.15] }, y: { range: [0, top * 1.08 || 1] } },
      drawn, [whiskers(() => intervals, 4)],
    );
  }

  function draw() {
    for (const [plot] of plots) plot.destroy();
    plots = [];
    const isFolded = !byId("above").clientWidth; // a chart needs its width; `toggle` draws it later
    if (shown().length && !isFolded) {
      above();
      histogram();
      if (figures.length) againstRho();
    }
    state.textContent = shown().length ? faults.join(" ") : "Choose a line.";
    const address = new URL(location.href);
    for (const select of ["page", "load", "against"]) {
      if (byId(select).options.length > 1) address.searchParams.set(select, byId(select).value);
    }
    address.searchParams.delete("hide");
    for (const line of lines) if (!line.shown) address.searchParams.append("hide", line.key);
    history.replaceState(null, "", address);
  }

  byId("curves-charts").hidden = byId("curves-help").hidden = false;
  draw();

  // ---- saving ----
  const experiments = [...new Set(sources.map((source) => source.title))];
  const origins = () => shown().map((line) => line.result.source).filter((source, place, all) => all.indexOf(source) === place).map((source) => `${source.title} (${source.name})`).join("; ");
  const words = (select) => byId(select).selectedOptions[0].textContent;
  const capital = (text) => text[0].toUpperCase() + text.slice(1);
  const atLoad = () => (words("load") === "closed loop" ? "closed loop" : `ρ = ${words("load")}`);
  const choices = {
    above: () => [[words("page"), atLoad()], "Share of attempts still unanswered after t seconds (lower is better)", ["unanswered", byId("page").value, atLoad()]],
    histogram: () => [[words("page"), atLoad()], "Share of attempts for each second of response time", ["answered per second", byId("page").value, atLoad()]],
    "against-rho": () => [[], `${capital(words("against"))} against the offered load`, [byId("against").value, "against load"]],
  };
  for (const [chart, choice] of Object.entries(choices)) {
    const element = byId(chart);
    saveChart(
      element.closest("figure").querySelector("figcaption"),
      () => plots.find(([, place]) => place === element)?.[0],
      () => {
        const [notes, title, file] = choice();
        return { title, note: [...notes, origins(), "95 % intervals where there are repetitions"].join(" · "), file: [experiments.join(" and ").slice(0, 60), ...file] };
      },
    );
  }
  addEventListener("themed", draw);
  section.querySelector("details").addEventListener("toggle", draw);
  onNewWidth(draw);
});
