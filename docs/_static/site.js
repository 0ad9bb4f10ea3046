// What scrolls sideways can be reached with the keyboard; on the console, a way back to it.
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
  const brand = document.querySelector(".sidebar-brand");
  if (root.pathname === "/docs/" && brand) {
    const back = document.createElement("a");
    back.href = "/";
    back.className = "back-to-console";
    back.textContent = "← Lab console";
    brand.before(back);
  }
})();
