// The panels of several reports in one chart: each curve has a colour; each report has a dash and
// a letter.
"use strict";
addEventListener("DOMContentLoaded", () => {
  const LETTERS = "ABCDEF";
  const MOST_POINTS = 40; // lines with more points have no marks and no intervals
  const drawings = [];

  function draw(element, panel) {
    const curves = [...new Set(Object.values(panel.lines).map((line) => line.curve))];
    const named = Object.keys(panel.x_names).length > 0;
    const all = Object.values(panel.lines);
    const beside = (place) => (named ? ((place + 0.5) / all.length - 0.5) * 0.6 : 0); // if the x values are names, the points are side by side
    const lines = all.map((line, place) => ({ ...line, x: line.x.map((x) => x + beside(place)) }));
    const colours = new Map(lines.map((line) => [line.curve, line.colour]));
    const published = Object.values(panel.published).map(([curve, x, y]) => [curve, x + beside(all.findIndex((line) => line.curve === curve)), y]);
    const names = (x) => panel.x_names[String(Math.round(x))] ?? "";
    const highest = Math.max(...lines.flatMap((line) => line.mean.map((y, i) => y + (line.half[i] ?? 0))), ...published.map(([, , y]) => y));
    const lowest = Math.min(0, ...lines.flatMap((line) => line.mean.map((y, i) => y - (line.half[i] ?? 0))), ...published.map(([, , y]) => y));
    const xs = [...new Set([...lines.flatMap((line) => line.x), ...published.map(([, x]) => x)])].sort((a, b) => a - b);
    if (!xs.length) return;
    const column = (points) => { const known = new Map(points); return xs.map((x) => known.get(x) ?? null); };
    const data = [xs, ...lines.map((line) => column(line.x.map((x, i) => [x, line.mean[i]])))];
    const series = lines.map((line) => ({
      label: `${line.curve}, ${LETTERS[line.report]}`, stroke: line.colour, width: named ? 0 : 2, dash: lineDash(line.report), spanGaps: true,
      points: { show: named || line.x.length < MOST_POINTS, size: 7, stroke: line.colour, fill: line.report ? style("--card") : line.colour },
    }));
    for (const curve of curves) {
      const points = published.filter(([of]) => of === curve).map(([, x, y]) => [x, y]);
      if (!points.length) continue;
      data.push(column(points));
      series.push({ label: `${curve}, published`, stroke: colours.get(curve), width: 0, points: { show: true, size: 11, width: 2, fill: "transparent" } });
    }
    const intervals = lines.map((line) => ({
      colour: line.colour,
      intervals: line.x.map((x, i) => [x, line.mean[i], line.half[i]]).filter(([, mean, half]) => mean !== null && half !== null).map(([x, mean, half]) => [x, mean - half, mean + half]),
    }));
    const shown = (plot) => intervals.filter((_, place) => plot.series[place + 1].show && lines[place].x.length <= MOST_POINTS);
    const span = xs.at(-1) - xs[0] || 1;
    const ticks = named ? { splits: () => Object.keys(panel.x_names).map(Number), values: (u, splits) => splits.map(names) } : {};
    drawings.push([
      new uPlot(
        {
          width: element.clientWidth, height: curveHeight(element),
          scales: { x: { time: false, range: () => [xs[0] - 0.03 * span, xs.at(-1) + 0.03 * span] }, y: { range: () => [lowest, highest * 1.05 || 1] } },
          axes: [{ ...AXIS, label: panel.x_label, labelSize: 20, ...ticks }, { ...AXIS, size: 62 }],
          series: [{ label: panel.x_label, ...(named ? { value: (u, x) => (x === null ? "--" : names(x)) } : {}) }, ...series], plugins: [whiskers(shown)],
        },
        data, element,
      ),
      element,
    ]);
  }

  const wanted = [];
  for (const place of document.querySelectorAll("[data-figure]")) {
    for (const panel of JSON.parse(place.nextElementSibling.textContent)) {
      const figure = document.createElement("figure");
      const element = Object.assign(document.createElement("div"), { className: "chart" });
      element.setAttribute("role", "img");
      element.setAttribute("aria-label", `${panel.title}, a line for each curve and report; its numbers are in the tables below`);
      figure.append(Object.assign(document.createElement("figcaption"), { textContent: panel.title }), element);
      place.append(figure);
      wanted.push([element, panel]);
    }
  }
  for (const [element, panel] of wanted) draw(element, panel); // after all have their widths
  const reports = [...document.querySelectorAll("main > dl.facts dd")].map((name, place) => `${LETTERS[place]}: ${name.textContent.trim()}`).join("; ");
  for (const [element, panel] of wanted) {
    const figure = element.closest("[data-figure]").dataset.figure;
    saveChart(element.previousElementSibling, () => drawings.find(([, place]) => place === element)?.[0], () => ({ title: panel.title, note: reports, file: [figure, panel.title] }));
  }
  onNewWidth(() => {
    for (const [plot, element] of drawings) plot.setSize({ width: element.clientWidth, height: plot.height });
  });
});
