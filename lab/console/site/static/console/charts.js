// The common parts of all charts: the colours of the theme, the dashes of lines, samples at a time, marks at
// the times of changes, and intervals.
"use strict";
const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const DASHES = [[], [10, 6], [3, 4], [12, 5, 3, 5], [6, 3], [2, 6]];
const lineDash = (number) => DASHES[number % DASHES.length];
const textSize = () => parseFloat(getComputedStyle(document.documentElement).fontSize);
const AXIS = { stroke: () => style("--soft"), grid: { stroke: () => style("--line"), width: 1 }, ticks: { stroke: () => style("--line") } };
const MARK_DASH = [6, 4];
const MARKS = { start: "--good", end: "--soft", policy: "--accent", abandonment: "--accent", load: "--bad" };
const markColour = (kind) => style(MARKS[kind] ?? "--accent");
const MARK_WORDS = { start: (text) => `begins: ${text}`, policy: (text) => `${text} decides from here` };
const markWords = ({ x, text, kind }) => `${x.toFixed(0)} s: ${MARK_WORDS[kind]?.(text) ?? text}`;

// The place of the last sample at or before a time, or of the first sample.
function indexAt(times, time) {
  let low = 0;
  let high = times.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (times[middle] <= time) low = middle;
    else high = middle - 1;
  }
  return low;
}

// All times of several runs in order, thinned to about the number that a chart can show.
function timesOf(runs) {
  const MOST = 800;
  const times = [...new Set(runs.flatMap(({ time_s: own }) => own))].sort((a, b) => a - b);
  const every = Math.max(1, Math.ceil(times.length / MOST));
  return times.filter((_, i) => i % every === 0 || i === times.length - 1);
}

// A column of a run's samples at these times, with nothing after the run's end.
const valuesAt = (times, run, column) => times.map((time) => (time > run.time_s.at(-1) ? null : run[column][indexAt(run.time_s, time)]));

function marks(list) {
  // list: [{x, text, kind}]; drawn as dashed lines with texts that do not overlap.
  // If the user points at a line, the texts of all lines at this place are shown.
  const NEAR = 8; // CSS pixels
  const hint = document.createElement("div");
  hint.className = "mark-hint";
  hint.hidden = true;
  return {
    hooks: {
      init: [(plot) => plot.over.append(hint)],
      setCursor: [
        (plot) => {
          const { left } = plot.cursor;
          const near = left >= 0 && plot.over.matches(":hover") ? list.filter(({ x }) => Math.abs(plot.valToPos(x, "x") - left) <= NEAR) : [];
          hint.hidden = !near.length;
          if (!near.length) return;
          hint.textContent = near.map(markWords).join("\n");
          hint.style.left = `${Math.max(0, Math.min(left + 10, plot.over.clientWidth - hint.offsetWidth))}px`;
        },
      ],
      saved: [
        (plot, { line, at, box, words }) => {
          list.forEach(({ x, text, kind }, i) => {
            if (x < plot.scales.x.min || x > plot.scales.x.max) return;
            const [left] = at(x, plot.scales.y.min);
            const stroke = markColour(kind);
            line([left, box.top], [left, box.top + box.height], { stroke, "stroke-width": 1.5, "stroke-dasharray": MARK_DASH.join(" ") });
            if (kind !== "end") words(text, left + 5, box.top + 14 * (1 + (i % 5)), stroke);
          });
        },
      ],
      draw: [
        (plot) => {
          const { ctx, bbox } = plot;
          const size = textSize() * 0.8 * devicePixelRatio;
          const taken = []; // [line, end] of texts that are already drawn
          ctx.save();
          ctx.beginPath();
          ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
          ctx.clip();
          ctx.textAlign = "left";
          ctx.textBaseline = "alphabetic";
          ctx.font = `600 ${size}px system-ui, sans-serif`;
          const inside = list
            .map((mark) => ({ ...mark, at: plot.valToPos(mark.x, "x", true), colour: markColour(mark.kind) }))
            .filter(({ at }) => at >= bbox.left && at <= bbox.left + bbox.width);
          ctx.lineWidth = 1.5 * devicePixelRatio;
          ctx.setLineDash(MARK_DASH);
          for (const { at, colour } of inside) {
            ctx.strokeStyle = colour;
            ctx.beginPath();
            ctx.moveTo(at, bbox.top);
            ctx.lineTo(at, bbox.top + bbox.height);
            ctx.stroke();
          }
          // The newest marks have texts, as far as these leave two thirds of the curves free.
          const lines = Math.max(1, Math.floor(bbox.height / 3 / (size * 1.3)));
          for (const { at, text, colour } of inside.filter(({ kind }) => kind !== "end").sort((one, other) => other.at - one.at)) {
            const wide = ctx.measureText(text).width;
            const left = Math.min(at + 5, bbox.left + bbox.width - wide - 4);
            let line = 0;
            while (taken.some((each) => each.line === line && left < each.to && left + wide > each.from)) line += 1;
            if (line >= lines) continue;
            taken.push({ line, from: left, to: left + wide + 8 });
            const low = bbox.top + size * 1.3 * (line + 1);
            ctx.fillStyle = style("--card");
            ctx.globalAlpha = 0.8; // the curves behind the text stay visible
            ctx.fillRect(left - 3, low - size, wide + 6, size * 1.3);
            ctx.globalAlpha = 1;
            ctx.fillStyle = colour;
            ctx.fillText(text, left, low);
          }
          ctx.restore();
        },
      ],
    },
  };
}

// Intervals as upright lines. `linesOf` returns the lines that are drawn now, each with its `colour` and its
// `intervals` of [x, low, high]; `cap`: half the length of the bars at both ends, in CSS pixels.
function whiskers(linesOf, cap = 0) {
  const draw = (plot, at, half, line) => {
    for (const { colour, intervals } of linesOf(plot)) {
      for (const [x, low, high] of intervals) {
        const [[across, bottom], [, top]] = [at(x, low), at(x, high)];
        line([across, bottom], [across, top], colour);
        if (half) for (const end of [bottom, top]) line([across - half, end], [across + half, end], colour);
      }
    }
  };
  return {
    hooks: {
      saved: [(plot, { line, at }) => draw(plot, at, cap, (from, to, stroke) => line(from, to, { stroke, "stroke-width": 1.5 }))],
      draw: [
        (plot) => {
          const { ctx } = plot;
          ctx.save();
          ctx.lineWidth = 1.5 * devicePixelRatio;
          draw(plot, (x, y) => [plot.valToPos(x, "x", true), plot.valToPos(y, "y", true)], cap * devicePixelRatio, (from, to, colour) => {
            ctx.strokeStyle = colour;
            ctx.beginPath();
            ctx.moveTo(...from);
            ctx.lineTo(...to);
            ctx.stroke();
          });
          ctx.restore();
        },
      ],
    },
  };
}

const curveHeight = (element) => Math.max(240, Math.min(380, element.clientWidth * 0.6));

// A phone's address bar appears and disappears, which changes only the height of the window.
function onNewWidth(listener) {
  let width = innerWidth;
  addEventListener("resize", () => {
    if (width === innerWidth) return;
    width = innerWidth;
    listener();
  });
}

// `sync`: charts with the same name share the cursor; `rem`: a function for the height in rem;
// `saved`: the `note` of a saved picture, and the parts of its `file` name.
function chart(element, series, markList, range, { sync, rem = () => 14, xLabel = "paper seconds", saved } = {}) {
  const height = () => Math.round(textSize() * rem());
  const font = () => `${Math.round(textSize() * 0.8)}px system-ui, sans-serif`;
  const axis = { ...AXIS, font: font(), labelFont: font() };
  const gone = new AbortController(); // a destroyed plot no longer listens to the window
  const plot = new uPlot(
    {
      width: element.clientWidth,
      height: height(),
      plugins: [marks(markList), { hooks: { destroy: [() => gone.abort()] } }],
      cursor: { drag: { x: false, y: false }, ...(sync ? { sync: { key: sync } } : {}) },
      scales: { x: { time: false }, y: { range: range || ((u, low, high) => [0, Math.max(1, high * 1.15)]) } },
      axes: [{ ...axis, ...(xLabel ? { label: xLabel, labelSize: textSize() * 1.4 } : {}), size: textSize() * (xLabel ? 2 : 1.7) }, { ...axis, size: textSize() * 3.2 }],
      series: [{ label: xLabel ? "paper s" : "at", value: (u, v) => (v == null ? "–" : `${fixed(v)}${xLabel ? "" : " s"}`) }, ...series.map((one) => ({ width: 2.5, points: { show: false }, value: (u, v) => fixed(v, v < 10 && v % 1 ? 2 : 0), ...one, stroke: () => (one.colour.startsWith("--") ? style(one.colour) : one.colour) }))],
    },
    [[], ...series.map(() => [])],
    element,
  );
  const { signal } = gone;
  addEventListener("resize", () => plot.setSize({ width: element.clientWidth, height: height() }), { signal });
  addEventListener("themed", () => plot.redraw(), { signal });
  const caption = element.previousElementSibling;
  const title = () => saveChart.wordsOf(caption);
  if (saved) saveChart(caption, () => plot, () => { const { note, file } = saved(); return { title: title(), note, file: [...file, title()] }; });
  return plot;
}

function bars(element, lengths, most, names = []) {
  // One bar for each page type, with its name before the bar and the number after it.
  if (!element.children.length) {
    lengths.forEach((_, page) => {
      const row = document.createElement("div");
      row.className = names.length ? "queue named" : "queue";
      const name = names.length ? `<span class="name">${names[page]}</span>` : "";
      row.innerHTML = `${name}<span class="bar p${page}"></span><span class="length"></span>`;
      element.append(row);
    });
  }
  lengths.forEach((length, page) => {
    const row = element.children[page];
    row.querySelector(".bar").style.width = `${Math.min(100, (100 * length) / most)}%`;
    setParts(row, { length: length ?? "–" }); // a baseline proxy does not report which pages wait
  });
}
