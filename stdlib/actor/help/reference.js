// The search of the reference: the scores of search.lua for words, and further points for a title that the user types.
// "/" focuses it, arrows choose, Enter opens, Escape closes.
"use strict";

const common = new Set(`a about an and any are as at be but by can do does for from get give has have how i if in into is
  it its make me my no not of on one or other our should so such than that the their them then there these they this to
  too use using want was we what when where which will with without would you your`.split(/\s+/));
const weights = { guide: 1.3, function: 1, module: 1, flag: 0.9, type: 0.7 };
const most = 20;

function stem(word) {
  for (const ending of ["ing", "ed", "es", "s"]) {
    if (word.length > ending.length + 2 && word.endsWith(ending)) {
      const rest = word.slice(0, -ending.length);
      if (!(ending === "s" && rest.endsWith("s"))) return rest;
    }
  }
  return word;
}

function wordsOf(text) {
  const found = new Set();
  for (const word of text.toLowerCase().replace(/([a-z])_(?=[a-z])/g, "$1 ").match(/[a-z0-9\u0080-\uffff]+/g) || []) {
    if (!common.has(word)) found.add(stem(word));
  }
  return [...found];
}

function find(query) {
  const typed = query.trim().toLowerCase();
  const words = wordsOf(query);
  const rarity = words.map((word) => {
    const count = texts.filter((text) => text[4].includes(" " + word)).length;
    return Math.log(1 + texts.length / (1 + count));
  });
  const found = [];
  texts.forEach((text, i) => {
    let score = 0;
    words.forEach((word, k) => {
      const part = text[5].includes(` ${word} `) ? 4 : text[5].includes(" " + word) ? 2
        : text[4].includes(` ${word} `) ? 1 : text[4].includes(" " + word) ? 0.5 : 0;
      score += part * rarity[k];
    });
    score *= weights[text[0]];
    const title = text[1].toLowerCase();
    if (title === typed) score += 1000;
    else if (typed.length > 1 && (title.endsWith("." + typed) || title.endsWith(":" + typed))) score += 100;
    else if (typed.length > 1 && title.startsWith(typed)) score += 10;
    if (score > 0) found.push({ text, score, i });
  });
  found.sort((a, b) => b.score - a.score || a.i - b.i);
  return found.slice(0, most).map((row) => row.text);
}

const input = document.getElementById("search");
const list = document.getElementById("results");
let chosen = -1;

function choose(i) {
  const items = list.querySelectorAll("[role=option]");
  if (items.length === 0) return;
  chosen = (i + items.length) % items.length;
  items.forEach((item, k) => item.setAttribute("aria-selected", String(k === chosen)));
  items[chosen].scrollIntoView({ block: "nearest" });
  input.setAttribute("aria-activedescendant", items[chosen].id);
}

function close() {
  list.hidden = true;
  input.setAttribute("aria-expanded", "false");
  input.removeAttribute("aria-activedescendant");
  chosen = -1;
}

function show() {
  list.textContent = "";
  if (input.value.trim() === "") return close();
  const found = find(input.value);
  found.forEach((text, i) => {
    const item = document.createElement("li");
    item.id = "result-" + i;
    item.setAttribute("role", "option");
    const link = document.createElement("a");
    link.href = text[2];
    link.tabIndex = -1;
    link.append(text[1]);
    const note = document.createElement("small");
    note.textContent = `${text[0]}: ${text[3]}`;
    link.append(note);
    link.addEventListener("click", close);
    item.append(link);
    list.append(item);
  });
  if (found.length === 0) {
    const none = document.createElement("li");
    none.className = "none";
    none.textContent = "nothing found";
    list.append(none);
  }
  list.hidden = false;
  input.setAttribute("aria-expanded", "true");
  choose(0);
}

input.addEventListener("input", show);
input.addEventListener("focus", () => { if (input.value) show(); });
input.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    choose(chosen + (event.key === "ArrowDown" ? 1 : -1));
    event.preventDefault();
  } else if (event.key === "Enter") {
    const link = list.querySelector("[aria-selected=true] a");
    if (link) {
      link.click();
      input.blur();
    }
  } else if (event.key === "Escape") {
    close();
    input.blur();
  }
});
document.addEventListener("keydown", (event) => {
  const held = event.ctrlKey || event.altKey || event.metaKey;
  if (event.key === "/" && !held && event.target.tagName !== "INPUT") {
    event.preventDefault();
    input.focus();
    input.select();
  }
});
document.addEventListener("click", (event) => { if (!event.target.closest(".search")) close(); });
