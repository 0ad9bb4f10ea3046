// What scrolls sideways can be reached with the keyboard. On the console, there is a way back to it,
// and links to a console's default address lead to this console.
"use strict";
(() => {
  const scrollers = document.querySelectorAll("article pre, article .table-wrapper, article .diagram");
  const reach = () => {
    for (const one of scrollers) {
      if (one.scrollWidth > one.clientWidth) one.tabIndex = 0;
      else one.removeAttribute("tabindex");
    }
  };
  addEventListener("load", reach);
  addEventListener("resize", reach);
  const root = new URL(document.documentElement.dataset.content_root, location.href);
  if (root.pathname !== "/docs/") return;
  for (const link of document.querySelectorAll('a[href^="http://127.0.0.1:8087/"]')) {
    link.href = link.pathname + link.search + link.hash;
  }
  const brand = document.querySelector(".sidebar-brand");
  if (brand) {
    const back = document.createElement("a");
    back.href = "/";
    back.className = "back-to-console";
    back.textContent = "← Lab console";
    brand.before(back);
  }
})();
