// Parts of a result that a narrow screen shows folded, and that a printed page shows in full.
"use strict";
{
  const narrow = matchMedia("(max-width: 40rem)");
  const fold = (within) => {
    if (narrow.matches) for (const part of within.querySelectorAll("details.fold")) part.open = false;
  };
  fold(document);
  // Parts that htmx loads later.
  document.addEventListener("htmx:load", (event) => event.target !== document.body && fold(event.target.parentElement ?? event.target));
  // A link to a folded part unfolds it.
  const unfold = () => {
    const part = location.hash && byId(location.hash.slice(1))?.closest("details");
    if (part) part.open = true;
  };
  addEventListener("hashchange", unfold);
  unfold();
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details.fold:not([open])")];
    for (const part of closed) part.open = true;
  });
  addEventListener("afterprint", () => closed.forEach((part) => { part.open = false; }));
}
