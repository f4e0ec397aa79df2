// Roles and kinds: saved as they are chosen, one or several at once, and counted anew.

import { alertIn, ask, at, post, say, tell } from "./app.js";

const list = document.getElementById("columns");
const card = document.getElementById("card");
const find = document.getElementById("find");
const only = document.getElementById("only-open");
const several = document.getElementById("several");
let counting = 0;
let showing = 0;

async function count() {
  const mine = ++counting;
  const number = card.dataset.number;
  const told = await ask(at(`/columns/counts/${number}?only=yes`));
  const place = card.querySelector(".together");
  if (mine === counting && place) place.textContent = `, ${told.counts[number]}`;
}

async function show(number) {
  const mine = ++showing;
  card.dataset.number = number;
  const told = await ask(at(`/columns/${number}`));
  if (mine !== showing) return; // another card was asked for meanwhile
  card.innerHTML = told.card;
  card.setAttribute("aria-labelledby", `name-${number}`);
  count();
}

function sift() {
  const text = find.value.toLowerCase();
  for (const row of list.children) {
    const fits = row.dataset.name.toLowerCase().includes(text);
    row.hidden = !fits || (only.checked && !row.classList.contains("doubt"));
  }
}

// Puts in place what changed; says what went wrong beside the form that asked.
async function save(form, body, wrong) {
  try {
    const told = await post(form.action, body);
    for (const [number, html] of Object.entries(told.rows)) {
      const row = document.getElementById(`row-${number}`);
      if (!row) continue;
      row.innerHTML = html;
      row.dataset.name = row.querySelector("bdi").textContent; // it may be another one
      row.classList.toggle("doubt", row.querySelector("[data-keep]") !== null);
    }
    document.getElementById("unique").innerHTML = told.bar;
    document.getElementById("to-decide").innerHTML = told.open;
    wrong.hidden = true;
    say(told.said);
    await show(card.dataset.number);
    return true;
  } catch (error) {
    tell(wrong, error);
    return false;
  }
}

const problem = (form) => alertIn(form, "problem bad-text", "append");

async function choose(form, id) {
  const number = form.action.split("/").pop();
  if (form.closest("#columns")) card.dataset.number = number;
  if (await save(form, new URLSearchParams(new FormData(form)), problem(form))) {
    document.getElementById(id)?.focus();
  }
}

for (const place of [list, card]) {
  place?.addEventListener("change", (event) => {
    const form = event.target.closest("form.choose");
    if (form) choose(form, event.target.id);
  });
  place?.addEventListener("submit", (event) => {
    event.preventDefault();
    choose(event.target, event.target.querySelector("select, input[id]").id);
  });
}

list?.addEventListener("click", async (event) => {
  const link = event.target.closest("a[data-column]");
  if (!link || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  await show(link.dataset.column);
  card.scrollIntoView({ block: "nearest" });
});

several?.addEventListener("submit", (event) => {
  event.preventDefault();
  const body = new URLSearchParams(new FormData(several));
  save(several, body, document.getElementById("several-error"));
});

document.getElementById("find-form")?.addEventListener("submit", (event) => event.preventDefault());
find?.addEventListener("input", sift);
only?.addEventListener("change", sift);

if (card) count();
