// Before the first paint: the theme that was chosen here, so that a dark page does not flash white.
"use strict";
const chosenTheme = localStorage.getItem("sortie-theme");
if (chosenTheme) document.documentElement.dataset.theme = chosenTheme;
