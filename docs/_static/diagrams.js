// Draws the page's diagrams, and draws them again when the reader changes between light and dark.
"use strict";
(() => {
  const diagrams = [...document.querySelectorAll("pre.mermaid")];
  const sources = diagrams.map((diagram) => diagram.textContent);
  const isDark = () => {
    const chosen = document.body.dataset.theme;
    return chosen === "dark" || (chosen !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  };
  const draw = () => {
    const dark = isDark();
    mermaid.initialize({
      startOnLoad: false,
      theme: dark ? "dark" : "default",
      themeVariables: dark ? { edgeLabelBackground: "#202020" } : {},
      fontFamily: "inherit",
    });
    diagrams.forEach((diagram, number) => {
      diagram.removeAttribute("data-processed");
      diagram.textContent = sources[number];
    });
    mermaid.run({ nodes: diagrams });
  };
  draw();
  new MutationObserver(draw).observe(document.body, { attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
})();
