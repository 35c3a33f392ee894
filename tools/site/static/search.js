// Search over search-index.js, which is fetched when the field is first used.
"use strict";
const root = new URL(".", document.currentScript.src);
const field = document.getElementById("search");
const list = document.getElementById("results");
let rows;

function searchIndex(index) {
  rows = index.map((row) => ({ ...row, low: [row.page, row.section, row.text].map((s) => s.toLowerCase()) }));
  show();
}

function load() {
  if (rows) return;
  rows = [];
  const script = document.createElement("script");
  script.src = new URL("search-index.js", root);
  document.head.append(script);
}

// score is 0 unless every word is found; titles count more than text, and whole words more than parts of them.
function score(row, words) {
  let sum = 0;
  for (const word of words) {
    let best = 0;
    [12, 8, 1].forEach((weight, k) => {
      const at = row.low[k].indexOf(word);
      if (at < 0) return;
      const whole = !/\w/.test(row.low[k][at - 1] || " ") && !/\w/.test(row.low[k][at + word.length] || " ");
      best += weight * (whole ? 2 : 1) * (k < 2 ? word.length / row.low[k].length + 0.5 : 1);
    });
    if (!best) return 0;
    sum += best;
  }
  return row.section ? sum : sum + 1;
}

function excerpt(row, words) {
  const at = Math.max(0, ...words.map((w) => row.low[2].indexOf(w)));
  const from = Math.max(0, at - 50);
  return (from ? "…" : "") + row.text.slice(from, from + 140) + "…";
}

function show() {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = rows.map((row) => ({ row, score: words.length ? score(row, words) : 0 })).filter((f) => f.score > 0)
    .sort((a, b) => b.score - a.score).slice(0, 15);
  list.replaceChildren(...found.map(({ row }) => {
    const link = document.createElement("a");
    link.href = new URL(row.address, root);
    const title = document.createElement("b");
    title.textContent = row.section ? row.page + ": " + row.section : row.page;
    const text = document.createElement("span");
    text.textContent = excerpt(row, words);
    link.append(title, text);
    const item = document.createElement("li");
    item.append(link);
    return item;
  }));
  if (words.length && !found.length && rows.length) list.append(Object.assign(document.createElement("li"), { textContent: "Nothing found." }));
  list.hidden = !list.children.length;
}

field.addEventListener("focus", load);
field.addEventListener("input", show);
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== field) {
    event.preventDefault();
    field.focus();
  } else if (event.key === "Escape") {
    list.hidden = true;
  } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && !list.hidden && document.activeElement.closest(".search")) {
    event.preventDefault();
    const stops = [field, ...list.querySelectorAll("a")];
    const next = stops.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1);
    stops[Math.max(0, Math.min(next, stops.length - 1))].focus();
  } else if (event.key === "Enter" && document.activeElement === field) {
    list.querySelector("a")?.click();
  }
});
document.addEventListener("click", (event) => { if (!event.target.closest(".search")) list.hidden = true; });
