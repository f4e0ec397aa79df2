// Runs: pages of groups without a reload, and commands to copy.

import { ask, say } from "./app.js";

const groups = document.getElementById("groups");
groups?.addEventListener("click", async (event) => {
  const link = event.target.closest("a[data-page]");
  if (!link || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  const told = await ask(link.dataset.page).catch(() => null);
  if (!told) {
    location.assign(link.href);
    return;
  }
  groups.innerHTML = told.html;
  const pager = groups.querySelector(".pager");
  say(pager.querySelector("span").textContent);
  (pager.querySelector("a:last-of-type") || pager).focus();
});

for (const button of document.querySelectorAll("[data-copy]")) {
  const place = button.parentElement.querySelector("[data-copied]");
  button.addEventListener("click", async () => {
    const source = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(source.textContent);
      place.textContent = button.dataset.done;
    } catch {
      getSelection().selectAllChildren(source);
      source.focus();
      place.textContent = button.dataset.failed;
    }
  });
}
