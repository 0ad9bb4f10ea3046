// The search in the events and verdicts of a policy.
"use strict";
addEventListener("DOMContentLoaded", () => {
  const search = byId("search");
  const found = byId("found");
  const entries = [...document.querySelectorAll("#entries details")];
  search.addEventListener("input", () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const hits = entries.filter((entry) => {
      const text = entry.textContent.toLowerCase();
      entry.hidden = !words.every((word) => text.includes(word));
      return !entry.hidden;
    });
    for (const kind of document.querySelectorAll("#entries [data-kind]")) kind.hidden = !kind.querySelector("details:not([hidden])");
    for (const entry of entries) entry.open = words.length > 0 && hits.length <= 2 && hits.includes(entry);
    found.textContent = words.length ? `${hits.length} of ${entries.length} entries contain these words.` : "";
  });
});
