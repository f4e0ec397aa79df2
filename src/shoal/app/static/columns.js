// Roles and kinds: saved as they are chosen, and counted anew without a reload.

import { ask, at, post, say, tell } from "./app.js";

const cards = document.getElementById("cards");
const unique = document.getElementById("unique");
let newest = 0;

async function count() {
  const mine = ++newest;
  let first = 0;
  while (first !== null) {
    const told = await ask(at(`/columns/counts/${first}`));
    if (mine !== newest) return; // roles have changed since
    for (const [number, text] of Object.entries(told.counts)) {
      const place = document.querySelector(`.together[data-number="${number}"]`);
      if (place) place.textContent = `, ${text}`;
    }
    first = told.next;
  }
}

cards?.addEventListener("change", async (event) => {
  const form = event.target.closest("form.choose");
  if (!form) return;
  const card = form.closest("article");
  const field = event.target.name;
  const body = new URLSearchParams(new FormData(form));
  try {
    const told = await post(form.action, body);
    card.innerHTML = told.card;
    unique.innerHTML = told.bar;
    say(told.said);
  } catch (error) {
    card.querySelector(".problem")?.remove();
    const problem = document.createElement("p");
    problem.className = "problem bad-text";
    problem.setAttribute("role", "alert");
    tell(problem, error);
    form.append(problem);
    return;
  }
  card.querySelector(`[name="${field}"]`)?.focus();
  count();
});

count();
