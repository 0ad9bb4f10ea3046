// The common parts of all charts: the colours of the theme, and marks at the times of changes.
"use strict";
const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const MARKS = { start: "--good", end: "--soft", policy: "--accent", abandonment: "--accent", load: "--bad" };
const MARK_WORDS = { start: (text) => `begins: ${text}`, policy: (text) => `${text} decides from here` };
const markWords = ({ x, text, kind }) => `${x.toFixed(0)} s: ${MARK_WORDS[kind]?.(text) ?? text}`;

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
            const stroke = style(MARKS[kind] ?? "--accent");
            line([left, box.top], [left, box.top + box.height], { stroke, "stroke-width": 1.5, "stroke-dasharray": "6 4" });
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
            .map((mark) => ({ ...mark, at: plot.valToPos(mark.x, "x", true), colour: style(MARKS[mark.kind] ?? "--accent") }))
            .filter(({ at }) => at >= bbox.left && at <= bbox.left + bbox.width);
          ctx.lineWidth = 1.5 * devicePixelRatio;
          ctx.setLineDash([6, 4]);
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

const textSize = () => parseFloat(getComputedStyle(document.documentElement).fontSize);

// `sync`: charts with the same name share the cursor; `rem`: a function for the height in rem;
// `saved`: the `note` of a saved picture, and the parts of its `file` name.
function chart(element, series, markList, range, { sync, rem = () => 14, xLabel = "paper seconds", saved } = {}) {
  const height = () => Math.round(textSize() * rem());
  const font = () => `${Math.round(textSize() * 0.8)}px system-ui, sans-serif`;
  const axis = { stroke: () => style("--soft"), grid: { stroke: () => style("--line") }, ticks: { stroke: () => style("--line") }, font: font(), labelFont: font() };
  const gone = new AbortController(); // a destroyed plot no longer listens to the window
  const plot = new uPlot(
    {
      width: element.clientWidth,
      height: height(),
      plugins: [marks(markList), { hooks: { destroy: [() => gone.abort()] } }],
      cursor: { drag: { x: false, y: false }, ...(sync ? { sync: { key: sync } } : {}) },
      scales: { x: { time: false }, y: { range: range || ((u, low, high) => [0, Math.max(1, high * 1.15)]) } },
      axes: [{ ...axis, ...(xLabel ? { label: xLabel, labelSize: textSize() * 1.4 } : {}), size: textSize() * (xLabel ? 2 : 1.7) }, { ...axis, size: textSize() * 3.2 }],
      series: [{ label: xLabel ? "paper s" : "at", value: (u, v) => (v === null || v === undefined ? "–" : `${v.toFixed(0)}${xLabel ? "" : " s"}`) }, ...series.map((one) => ({ width: 2.5, points: { show: false }, value: (u, v) => (v === null || v === undefined ? "–" : v.toFixed(v < 10 && v % 1 ? 2 : 0)), ...one, stroke: () => (one.colour.startsWith("--") ? style(one.colour) : one.colour) }))],
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
    const number = row.querySelector(".length");
    const text = String(length ?? "–"); // a baseline proxy does not report which pages wait
    if (number.textContent !== text) number.textContent = text;
  });
}
