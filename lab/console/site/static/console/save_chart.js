// A chart as it is on the screen, saved in the browser as SVG or as PNG.
"use strict";
const saveChart = (() => {
  const NAMESPACE = "http://www.w3.org/2000/svg";
  const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
  const [TITLE, TEXT] = [16, 12]; // sizes in pixels
  const EDGE = 14;
  const PNG_SCALE = 2; // sharp in print, too
  const number = (value) => Math.round(value * 100) / 100;
  const pencil = document.createElement("canvas").getContext("2d");

  function element(name, facts, ...children) {
    const made = document.createElementNS(NAMESPACE, name);
    for (const [key, value] of Object.entries(facts)) if (value !== undefined && value !== null) made.setAttribute(key, typeof value === "number" ? number(value) : value);
    made.append(...children);
    return made;
  }
  const text = (words, x, y, { size = TEXT, fill, ...facts } = {}) => element("text", { x, y, "font-size": size, fill: fill ?? style("--ink"), ...facts }, words);

  function wide(words, size, weight = 400) {
    pencil.font = `${weight} ${size}px ${FONT}`;
    return pencil.measureText(words).width;
  }

  function wrapped(words, size, most, weight) {
    const lines = [""];
    for (const word of words.split(/\s+/)) {
      const longer = lines.at(-1) ? `${lines.at(-1)} ${word}` : word;
      if (wide(longer, size, weight) <= most || !lines.at(-1)) lines[lines.length - 1] = longer;
      else lines.push(word);
    }
    return lines.filter(Boolean);
  }

  const strokeOf = (plot, place) => plot.series[place].stroke(plot, place);
  const dashOf = (series) => (series.dash?.length ? series.dash.join(" ") : undefined);
  const hasPoints = (plot, place) => plot.series[place].points.show(plot, place) === true;
  const isDrawn = (plot, place) => plot.series[place].show && strokeOf(plot, place) !== "transparent" && (plot.series[place].width > 0 || hasPoints(plot, place));
  const drawn = (plot) => plot.series.map((_, place) => place).filter((place) => place && isDrawn(plot, place));

  // The path of one line, with a gap for each missing value.
  function path(plot, place, at, { series = plot.series[place] } = {}) {
    const [xs, ys] = [plot.data[0], plot.data[place]];
    let pen = "";
    let before = null;
    xs.forEach((x, i) => {
      const value = ys[i];
      if (value === null || value === undefined) {
        if (!series.spanGaps) before = null;
        return;
      }
      const [here, high] = at(x, value);
      if (before === null) pen += `M${here} ${high}`;
      else if (series.isStepped) pen += `H${here}V${high}`;
      else pen += `L${here} ${high}`;
      before = high;
    });
    if (series.isStepped && before !== null && xs.length > 1) pen += `H${at(2 * xs.at(-1) - xs.at(-2), 0)[0]}`;
    return pen;
  }

  function band(plot, { series: [upper, lower], fill }, at) {
    const points = [];
    for (const [place, turned] of [[upper, false], [lower, true]]) {
      const own = plot.data[0].map((x, i) => [x, plot.data[place][i]]).filter(([, y]) => y !== null && y !== undefined).map(([x, y]) => at(x, y).join(" "));
      points.push(...(turned ? own.toReversed() : own));
    }
    return points.length ? element("path", { d: `M${points.join("L")}Z`, fill: typeof fill === "function" ? fill(plot, 0) : fill }) : "";
  }

  function axes(plot, box, at) {
    const group = element("g", { "font-size": TEXT });
    const soft = style("--soft");
    plot.axes.forEach((axis, side) => {
      const isX = side === 0;
      const { min, max } = plot.scales[axis.scale];
      const ticks = (axis._splits ?? []).map((split, i) => [split, axis._values?.[i]]).filter(([split]) => split !== null && split >= min && split <= max);
      for (const [split, words] of ticks) {
        const [x, y] = isX ? at(split, plot.scales.y.min) : at(plot.scales.x.min, split);
        group.append(element("path", { d: isX ? `M${x} ${box.top}V${box.top + box.height}` : `M${box.left} ${y}H${box.left + box.width}`, stroke: style("--line"), fill: "none" }));
        if (words === null || words === undefined || words === "") continue;
        group.append(isX ? text(String(words), x, box.top + box.height + 16, { fill: soft, "text-anchor": "middle" }) : text(String(words), box.left - 8, y + 4, { fill: soft, "text-anchor": "end" }));
      }
      if (!axis.label) return;
      const middle = box.top + box.height / 2;
      group.append(isX ? text(axis.label, box.left + box.width / 2, Math.min(box.top + box.height + 40, plot.height - 4), { fill: soft, "text-anchor": "middle" }) : text(axis.label, 12, middle, { fill: soft, "text-anchor": "middle", transform: `rotate(-90 12 ${number(middle)})` }));
    });
    return group;
  }

  // The legend: a sample of each line with its name, in as many rows as necessary.
  function legend(plot, most) {
    const group = element("g", {});
    const [SAMPLE, GAP, ROW] = [32, 18, 18];
    let [x, y] = [0, 12];
    for (const place of drawn(plot)) {
      const series = plot.series[place];
      const length = SAMPLE + 6 + wide(series.label, TEXT);
      if (x && x + length > most) [x, y] = [0, y + ROW];
      if (series.width) group.append(element("path", { d: `M${x} ${y - 4}h${SAMPLE}`, stroke: strokeOf(plot, place), "stroke-width": series.width, "stroke-dasharray": dashOf(series), fill: "none" }));
      if (hasPoints(plot, place)) group.append(point(plot, place, x + SAMPLE / 2, y - 4));
      group.append(text(series.label, x + SAMPLE + 6, y));
      x += length + GAP;
    }
    return [group, drawn(plot).length ? y + 10 : 0];
  }

  function point(plot, place, x, y) {
    const { size, fill } = plot.series[place].points;
    return element("circle", { cx: x, cy: y, r: size / 2, stroke: strokeOf(plot, place), fill: (typeof fill === "function" ? fill(plot, place) : fill) ?? style("--card") });
  }

  // The chart as an SVG element, with title, note and legend above the plot.
  function svg(plot, { title, note }) {
    const width = Math.max(plot.width, 320);
    const head = element("g", { transform: `translate(${EDGE} ${EDGE})` });
    let y = 0;
    for (const line of wrapped(title, TITLE, width, 600)) head.append(text(line, 0, (y += TITLE + 3), { size: TITLE, "font-weight": 600 }));
    for (const line of wrapped(note, TEXT, width)) head.append(text(line, 0, (y += TEXT + 5), { fill: style("--soft") }));
    const [names, high] = legend(plot, width);
    names.setAttribute("transform", `translate(0 ${(y += 8)})`);
    head.append(names);
    y += high + EDGE;

    const ratio = devicePixelRatio;
    const box = Object.fromEntries(Object.entries(plot.bbox).map(([key, value]) => [key, value / ratio]));
    const at = (x, value) => [number(plot.valToPos(x, "x", true) / ratio), number(plot.valToPos(value, "y", true) / ratio)];
    const clip = `plot-${Math.random().toString(36).slice(2)}`; // a page can contain several of these files
    const inner = element("g", { "clip-path": `url(#${clip})` });
    for (const one of plot.bands ?? []) inner.append(band(plot, one, at));
    for (const place of drawn(plot)) {
      const series = plot.series[place];
      if (series.width) inner.append(element("path", { d: path(plot, place, at), stroke: strokeOf(plot, place), "stroke-width": series.width, "stroke-dasharray": dashOf(series), "stroke-linejoin": "round", fill: "none" }));
      if (hasPoints(plot, place)) plot.data[0].forEach((x, i) => (plot.data[place][i] ?? null) !== null && inner.append(point(plot, place, ...at(x, plot.data[place][i]))));
    }
    const line = (from, to, facts) => inner.append(element("path", { d: `M${from.join(" ")}L${to.join(" ")}`, fill: "none", ...facts }));
    for (const each of plot.hooks.saved ?? []) each(plot, { line, at, box, words: (words, x, height, fill) => inner.append(text(words, x, height, { fill, "font-weight": 600 })) });

    const [fullWidth, fullHeight] = [width + 2 * EDGE, y + plot.height + EDGE];
    return element(
      "svg",
      { xmlns: NAMESPACE, width: fullWidth, height: fullHeight, viewBox: `0 0 ${number(fullWidth)} ${number(fullHeight)}`, "font-family": FONT, role: "img" },
      element("title", {}, title),
      element("desc", {}, note),
      element("clipPath", { id: clip }, element("rect", { x: box.left, y: box.top, width: box.width, height: box.height })),
      element("rect", { width: fullWidth, height: fullHeight, fill: style("--card") }),
      head,
      element("g", { transform: `translate(${EDGE} ${number(y)})` }, axes(plot, box, at), inner),
    );
  }

  async function png(drawing) {
    const [width, height] = ["width", "height"].map((name) => Number(drawing.getAttribute(name)));
    const image = new Image(width, height);
    const loaded = new Promise((done, failed) => Object.assign(image, { onload: done, onerror: failed }));
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(drawing))}`;
    await loaded;
    const canvas = Object.assign(document.createElement("canvas"), { width: Math.round(width * PNG_SCALE), height: Math.round(height * PNG_SCALE) });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return new Promise((done) => canvas.toBlob(done, "image/png"));
  }

  // `what` in a file's name: lower-case letters, digits, points and hyphens.
  const slug = (words) => words.toLowerCase().replaceAll("ρ", "rho").replace(/[^a-z0-9.]+/g, "-").replace(/^[-.]+|[-.]+$/g, "");

  // The text of a caption without its controls. A button of class "term" is a word of the text (glossary.js).
  function wordsOf(caption) {
    const copy = caption.cloneNode(true);
    for (const control of copy.querySelectorAll("button:not(.term), select, .save-chart")) control.remove();
    return copy.textContent.trim().replace(/\s+/g, " ").replace(/:$/, "");
  }

  // Put the buttons after a chart's caption. `plotOf` returns the current chart, or nothing;
  // `describe` returns the `title`, the `note` and the parts of the `file` name.
  function offer(caption, plotOf, describe) {
    const place = Object.assign(document.createElement("span"), { className: "save-chart" });
    const name = wordsOf(caption);
    for (const kind of ["PNG", "SVG"]) {
      const button = quietButton(kind, async () => {
        const plot = plotOf();
        if (!plot) return;
        const facts = describe();
        const drawing = svg(plot, facts);
        const content = kind === "SVG" ? new Blob([`<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(drawing)}\n`], { type: "image/svg+xml" }) : await png(drawing);
        download(content, `${facts.file.map(slug).filter(Boolean).join("-").slice(0, 120)}.${kind.toLowerCase()}`);
      });
      button.title = `Save this chart as ${kind}`;
      button.setAttribute("aria-label", `Save the chart “${name}” as ${kind}`);
      place.append(button);
    }
    caption.querySelector(".save-chart")?.remove();
    caption.append(" ", place);
  }
  return Object.assign(offer, { wordsOf });
})();
