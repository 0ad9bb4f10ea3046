// Small parts that the scripts of several pages use.
"use strict";
const byId = (id) => document.getElementById(id);
// The value that the template filter `json_script` has written into the page.
const json = (id) => JSON.parse(byId(id).textContent);
const set = (element, text) => element.textContent !== String(text) && (element.textContent = text);
// The texts of parts of an element, by their classes.
const setParts = (element, texts) => Object.entries(texts).forEach(([name, text]) => set(element.querySelector(`.${name}`), text));
const fixed = (value, digits = 0) => (value == null ? "–" : value.toFixed(digits));
const percent = (ratio, digits = 0) => (ratio == null ? "–" : `${fixed(100 * ratio, digits)} %`);
const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;

// After a refused form, go to the first wrong field. Its error could otherwise be below the screen, or
// below the bar with the buttons.
const wrong = document.querySelector("main .wrong");
wrong?.scrollIntoView({ block: "center" });
wrong?.querySelector("input, select, textarea")?.focus({ preventScroll: true });

// A function that returns true at most every ten seconds: the texts for screen readers change so seldom
// that a user can hear them to the end.
function seldom() {
  const EVERY_MS = 10000;
  let last = -Infinity;
  return () => {
    const isDue = performance.now() - last >= EVERY_MS;
    if (isDue) last = performance.now();
    return isDue;
  };
}

function quietButton(words, action) {
  const button = Object.assign(document.createElement("button"), { type: "button", className: "quiet", textContent: words });
  button.addEventListener("click", action);
  return button;
}

function tableRow([head, ...values]) {
  const row = document.createElement("tr");
  row.append(Object.assign(document.createElement("th"), { scope: "row", textContent: head }));
  for (const value of values) row.insertCell().textContent = value;
  return row;
}

function download(content, name) {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(content), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}
