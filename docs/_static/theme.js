// Light, dark or as the system: the choice that the console keeps in this browser, too.
"use strict";
document.body.dataset.theme = localStorage.getItem("theme") || "auto";
