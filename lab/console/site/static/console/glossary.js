// Words of the glossary on pages of the console: column heads, names of rows, tiles, labels, captions.
// A word with an entry becomes a button with a dotted line; a label, or a word that is a link or a
// button already, gets a small button next to it. The entry is shown on hover and focus, and stays
// after a click, a tap or Enter. Escape, or a click elsewhere, closes it.
"use strict";
(async () => {
  const WORDS = "main th, main td:nth-child(2), main dt, main label, main legend, main figcaption, .race-runs h2";
  const HOVER_MS = 250, LEAVE_MS = 200;
  const answer = await fetch("/docs/terms.json").catch(() => null);
  if (!answer?.ok) return;
  const glossary = await answer.json();

  // As lab/report/glossary.py: the whole label, without its load, and the first part of a combination.
  const find = (label, isParameter) => {
    const whole = label.toLowerCase().split(/\s+/).filter(Boolean).join(" ");
    if (!whole) return null;
    const rest = whole.replace(/^ρ = [\d.]+ ?/, "");
    for (const name of [whole, rest || "ρ", rest.split(/ \+ |, | \(/)[0]]) {
      for (const names of isParameter ? [glossary.parameters, glossary.terms] : [glossary.terms]) {
        if (Object.hasOwn(names, name)) return glossary.entries[names[name]];
      }
    }
    return null;
  };

  const card = document.createElement("div");
  card.id = "glossary-card";
  card.className = "glossary-card";
  card.popover = "manual";
  card.innerHTML = '<p><strong></strong></p><p id="glossary-text"></p><pre></pre><p><a>In the glossary</a></p>';
  document.body.append(card);
  const [title, text, formula, link] = ["strong", "#glossary-text", "pre", "a"].map((part) => card.querySelector(part));
  let shown = null, pinned = false, timer = 0;

  const place = () => {
    const at = shown.getBoundingClientRect(), size = card.getBoundingClientRect(), edge = 8;
    const below = at.bottom + 6 + size.height <= innerHeight || at.top < size.height + 6;
    card.style.left = `${Math.max(edge, Math.min(at.left, innerWidth - size.width - edge))}px`;
    card.style.top = `${below ? at.bottom + 6 : at.top - size.height - 6}px`;
  };
  const hide = () => {
    clearTimeout(timer);
    if (!shown) return;
    shown.setAttribute("aria-expanded", "false");
    shown.removeAttribute("aria-describedby");
    shown = null;
    pinned = false;
    card.hidePopover();
  };
  const show = (button) => {
    clearTimeout(timer);
    if (shown === button) return;
    hide();
    const [name, words, rule, anchor] = button.entry;
    title.textContent = name;
    text.textContent = words;
    formula.textContent = rule;
    formula.hidden = !rule;
    link.href = `/docs/glossary.html#${anchor}`;
    link.setAttribute("aria-label", `${name} in the glossary`);
    shown = button;
    button.setAttribute("aria-expanded", "true");
    button.setAttribute("aria-describedby", "glossary-text");
    card.showPopover();
    place();
  };
  const later = (action, wait_ms) => {
    clearTimeout(timer);
    timer = setTimeout(action, wait_ms);
  };

  const button = (entry, name) => {
    const made = document.createElement("button");
    made.type = "button";
    made.entry = entry;
    made.setAttribute("aria-expanded", "false");
    made.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && later(() => pinned || show(made), HOVER_MS));
    made.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && !pinned && later(hide, LEAVE_MS));
    made.addEventListener("focus", () => made.matches(":focus-visible") && show(made));
    made.addEventListener("blur", (event) => card.contains(event.relatedTarget) || hide());
    made.addEventListener("click", (event) => {
      event.stopPropagation();
      if (shown === made && pinned) return hide();
      show(made);
      pinned = true;
    });
    made.addEventListener("keydown", (event) => {
      if (event.key !== "Tab" || event.shiftKey || shown !== made || !pinned) return;
      event.preventDefault();
      link.focus();
    });
    if (name) {
      made.className = "term-help";
      made.textContent = "?";
      made.setAttribute("aria-label", `What is ${name}?`);
    } else made.className = "term";
    return made;
  };
  card.addEventListener("pointerenter", () => clearTimeout(timer));
  card.addEventListener("pointerleave", () => pinned || later(hide, LEAVE_MS));
  link.addEventListener("keydown", (event) => {
    if (event.key !== "Tab") return;
    const from = shown;
    if (event.shiftKey) event.preventDefault();
    from.focus(); // the browser goes on from there to what follows
    if (!event.shiftKey) hide();
  });
  link.addEventListener("blur", (event) => event.relatedTarget === shown || hide());
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !shown) return;
    const from = shown, returns = card.contains(document.activeElement);
    if (returns) from.focus();
    hide();
  });
  document.addEventListener("click", (event) => card.contains(event.target) || hide());
  addEventListener("scroll", () => shown && place(), { passive: true, capture: true });
  addEventListener("resize", () => shown && place());

  const words = (element) => [...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE).map((node) => node.textContent).join(" ").trim();
  const explain = (element) => {
    if (element.dataset.term !== undefined || element.closest("svg, .glossary-card")) return;
    const inside = element.querySelector("a, button, input, select, textarea");
    const label = words(element) || (inside?.matches("a, button") ? inside.textContent.trim() : "");
    const entry = label && find(label, element.matches(".parameters label, .field label"));
    if (!entry) return;
    const table = element.closest("tbody");
    if (table?.querySelector(`[data-term="${entry[3]}"]`)) return; // once in a table is enough
    element.dataset.term = entry[3];
    if (element.matches("label") || inside) {
      const help = button(entry, label);
      if (!element.matches("label")) return element.append(help);
      const pair = document.createElement("span");
      pair.className = "label-with-help";
      element.before(pair);
      pair.append(element, help);
      return;
    }
    const made = button(entry);
    made.append(...element.childNodes);
    element.append(made);
  };
  const all = (root) => {
    if (root.matches?.(WORDS)) explain(root);
    root.querySelectorAll(WORDS).forEach(explain);
  };
  all(document);
  new MutationObserver((changes) => {
    for (const change of changes) {
      for (const node of change.addedNodes) if (node.nodeType === Node.ELEMENT_NODE && node.isConnected) all(node);
    }
    if (shown && !shown.isConnected) hide();
  }).observe(document.querySelector("main"), { childList: true, subtree: true });
})();
