// Words of the glossary on pages of the console: column heads, names of rows, tiles, labels, captions,
// and the terms of the papers in sentences, once in a card, a table or a section. A word with an entry
// becomes a button with a dotted line. A label, or a word that is a link or a button already, gets a
// small button next to it; the button of a select explains the present choice, too. The entry is
// shown on hover and focus, and stays after a click, a tap or Enter. Escape, or a click elsewhere, closes it.
"use strict";
(async () => {
  const WORDS = "main th, main td:nth-child(2), main dt, main label, main legend, main figcaption, .race-runs h2, .shop > h2";
  const SENTENCES = "main p, main li, main th, main td, main dd, main caption, main figcaption, .foot";
  // Links and controls have their own meaning, code is literal, and live regions change under the pointer.
  const UNTOUCHED = "a, button, summary, label, select, textarea, code, pre, kbd, svg, output, [contenteditable], [role=status]:not(.verdict), [role=alert], [role=log], [aria-live], [data-show], .unseen, .editor";
  const BLOCK = "article, section, table, figure, form, dialog, details, .card, main, .foot";
  const HOVER_MS = 250, LEAVE_MS = 200;
  const answer = await fetch("/docs/terms.json").catch(() => null);
  if (!answer?.ok) return;
  const glossary = await answer.json();

  // The rules of lab/report/glossary.py: the whole label, without its load, and the first part of a combination.
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
  card.innerHTML = '<p><strong></strong></p><p id="glossary-text"></p><pre></pre><p id="glossary-choice"></p><p><a>In the glossary</a></p>';
  document.body.append(card);
  const [title, text, formula, choice, link] = ["strong", "#glossary-text", "pre", "#glossary-choice", "a"].map((part) => card.querySelector(part));
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
    const [entry, chosen] = button.entries();
    if (!entry) return;
    const [name, words, rule, anchor] = entry;
    title.textContent = name;
    text.textContent = words;
    formula.textContent = rule;
    formula.hidden = !rule;
    choice.textContent = chosen ? `${chosen[0]}: ${chosen[1]}` : "";
    choice.hidden = !chosen;
    link.href = `/docs/glossary.html#${anchor}`;
    link.setAttribute("aria-label", `${name} in the glossary`);
    shown = button;
    button.setAttribute("aria-expanded", "true");
    button.setAttribute("aria-describedby", chosen ? "glossary-text glossary-choice" : "glossary-text");
    card.showPopover();
    place();
  };
  const later = (action, wait_ms) => {
    clearTimeout(timer);
    timer = setTimeout(action, wait_ms);
  };

  const button = (entries, name) => {
    const made = document.createElement("button");
    made.type = "button";
    made.entries = entries;
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
    from.focus(); // the Tab key then continues to the next element
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
  const chosenIn = (select) => find(select.selectedOptions[0]?.textContent ?? "", false);
  // The text of a link or a button, or of a label whose words are in elements.
  const textOf = (element, inside) => {
    if (inside?.matches("a, button")) return inside.textContent.trim();
    return element.matches("label") && !element.querySelector("select, output") ? element.textContent.trim() : "";
  };
  const explain = (element) => {
    if (element.dataset.term !== undefined || element.closest("svg, .glossary-card")) return;
    const inside = element.querySelector("a, button, input, select, textarea");
    const label = words(element) || textOf(element, inside);
    const entry = label && find(label, element.matches(".parameters label, .field label"));
    const list = element.matches("label") && element.control?.matches("select") ? element.control : null;
    const choices = list && [...list.options].some((option) => find(option.textContent, false)) ? list : null;
    if (!entry && !choices) return;
    const table = element.closest("tbody");
    if (entry && table?.querySelector(`[data-term="${entry[3]}"]`)) return; // once in a table is enough
    element.dataset.term = entry ? entry[3] : "";
    const entries = () => [entry, choices && chosenIn(choices)].filter(Boolean);
    if (element.matches("label") || inside) {
      const help = button(entries, entry ? label : `the choice at ${label}`);
      if (!element.matches("label")) return element.append(help);
      const pair = document.createElement("span");
      pair.className = "label-with-help";
      element.before(pair);
      pair.append(element, help);
      return;
    }
    const made = button(entries);
    made.append(...element.childNodes);
    element.append(made);
  };
  const pattern = new RegExp(glossary.in_text.map(([one]) => `(${one})`).join("|"), "gu");
  const explainIn = (node) => {
    const parent = node.parentElement;
    if (!parent?.closest(SENTENCES) || parent.closest(UNTOUCHED)) return;
    for (const match of node.data.matchAll(pattern)) {
      const entry = glossary.entries[glossary.in_text[match.slice(1).findIndex((one) => one !== undefined)][1]];
      const others = parent.closest(BLOCK).querySelectorAll(`[data-term="${entry[3]}"]`);
      if ([...others].some((one) => one.checkVisibility())) continue; // once in a block is enough
      const made = button(() => [entry]);
      made.dataset.term = entry[3];
      const rest = node.splitText(match.index).splitText(match[0].length);
      made.append(rest.previousSibling);
      rest.before(made);
      explainIn(rest);
      return;
    }
  };
  const explainAgain = (element) => {
    if (!element.matches(WORDS) || element.querySelector(".term, .term-help")) return;
    delete element.dataset.term; // its words have been replaced
    explain(element);
  };
  const all = (root) => {
    if (root.matches(WORDS)) explain(root);
    root.querySelectorAll(WORDS).forEach(explain);
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    const texts = [];
    while (walker.nextNode()) texts.push(walker.currentNode);
    texts.forEach(explainIn);
  };
  document.querySelectorAll("main, .foot").forEach(all);
  new MutationObserver((changes) => {
    for (const change of changes) {
      for (const node of change.addedNodes) {
        if (!node.isConnected) continue;
        if (node.nodeType === Node.ELEMENT_NODE) all(node);
        else if (node.nodeType === Node.TEXT_NODE) {
          explainAgain(node.parentElement);
          explainIn(node);
        }
      }
    }
    if (shown && !shown.isConnected) hide();
  }).observe(document.querySelector("main"), { childList: true, subtree: true });
})();
