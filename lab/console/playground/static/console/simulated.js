// The parts that the playground and the editor of a policy share: the settings on sliders, and the numbers of
// simulated runs.
"use strict";
const format = (number, digits = 0) => number.toLocaleString("en-GB", { minimumFractionDigits: digits, maximumFractionDigits: digits });

function showSliders(form) {
  for (const slider of form.querySelectorAll("input[type=range]")) {
    const digits = slider.step.split(".")[1]?.length;
    set(form.querySelector(`output[for="${slider.name}"]`), [format(Number(slider.value), digits), slider.dataset.unit].filter(Boolean).join(" "));
  }
}
const valuesOf = (form) => Object.fromEntries([...form.querySelectorAll("input[type=range]")].map((slider) => [slider.name, Number(slider.value)]));

// A row for each metric, with its name and the value of each run.
function metricRows(runs) {
  const share = (ratio) => `${format(100 * ratio, 1)} %`;
  const rows = [
    ["Purchases (confirms)", ({ confirms }) => format(confirms)],
    ["Bound: the most that any policy could sell", ({ confirm_bound }) => format(confirm_bound, 1)],
    ["Efficiency: purchases / bound", ({ revenue_efficiency_ratio }) => fixed(revenue_efficiency_ratio, 2)],
    ["Requests completed", ({ completed_ratio }) => share(completed_ratio)],
    ["Completed requests per second", ({ throughput_rps }) => format(throughput_rps, 2)],
    ["Server time for customers who had left", ({ wasted_ratio }) => share(wasted_ratio)],
    ["Customers", ({ sessions }) => format(sessions)],
    ["Duration", ({ duration_s }) => `${format(duration_s)} s`],
  ];
  return rows.map(([name, of]) => [name, ...runs.map(of)]);
}
const fillRows = (body, rows) => body.replaceChildren(...rows.map(tableRow));

// Draw a chart again, with the data of other runs.
function redrawn(element, data, series, saved, range) {
  element.replaceChildren();
  const plot = chart(element, series, [], range, { saved });
  plot.setData(data);
  return plot;
}
