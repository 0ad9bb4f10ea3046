// What the charts have in common: colours of the theme, marks where something was changed.
"use strict";
const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function marks(list) {
  // list: [{x, text}]; drawn as dashed lines with their words.
  return {
    hooks: {
      draw: [
        (plot) => {
          const { ctx, bbox } = plot;
          ctx.save();
          ctx.strokeStyle = ctx.fillStyle = style("--accent");
          ctx.setLineDash([6, 4]);
          ctx.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
          for (const { x, text } of list) {
            const at = plot.valToPos(x, "x", true);
            if (at < bbox.left || at > bbox.left + bbox.width) continue;
            ctx.beginPath();
            ctx.moveTo(at, bbox.top);
            ctx.lineTo(at, bbox.top + bbox.height);
            ctx.stroke();
            ctx.fillText(text, at + 4, bbox.top + 14 * devicePixelRatio);
          }
          ctx.restore();
        },
      ],
    },
  };
}

function chart(element, series, markList, range) {
  const axis = { stroke: () => style("--soft"), grid: { stroke: () => style("--line") }, ticks: { stroke: () => style("--line") } };
  const plot = new uPlot(
    {
      width: element.clientWidth,
      height: 240,
      plugins: [marks(markList)],
      cursor: { drag: { x: false, y: false } },
      scales: { x: { time: false }, y: { range: range || ((u, low, high) => [0, Math.max(1, high * 1.1)]) } },
      axes: [{ ...axis, label: "paper seconds" }, { ...axis, size: 56 }],
      series: [{ label: "paper s", value: (u, v) => (v === null ? "–" : v.toFixed(0)) }, ...series.map((one) => ({ width: 2, points: { show: false }, ...one, stroke: () => style(one.colour) }))],
    },
    [[], ...series.map(() => [])],
    element,
  );
  addEventListener("resize", () => plot.setSize({ width: element.clientWidth, height: 240 }));
  addEventListener("themed", () => plot.redraw());
  return plot;
}

function bars(element, lengths, most) {
  // One bar for each page type; the number stands beside it.
  if (!element.children.length) {
    lengths.forEach((_, page) => {
      const row = document.createElement("div");
      row.className = "queue";
      row.innerHTML = `<span class="bar p${page}"></span><span class="length"></span>`;
      element.append(row);
    });
  }
  lengths.forEach((length, page) => {
    const [bar, number] = element.children[page].children;
    bar.style.width = `${Math.min(100, (100 * length) / most)}%`;
    number.textContent = length;
  });
}
