"use strict";
// Runs before anything is drawn, so that the page does not flash in the other theme.
(() => {
  let kept = null;
  try { kept = localStorage.getItem("unskew-theme"); } catch { /* storage may be forbidden */ }
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = kept === "dark" || kept === "light" ? kept : dark ? "dark" : "light";
})();
