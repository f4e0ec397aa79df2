// Promises: saved as they are set; sentences, refusals and the curve follow.

import { alertIn, ask, at, post, say, tell } from "./app.js";

const form = document.getElementById("promises");
const settings = document.getElementById("settings");
const curve = document.getElementById("curve");
let newest = 0;
let watching = false;

async function save(more = {}) {
  const mine = ++newest;
  const body = new URLSearchParams(new FormData(form));
  body.delete("model");
  for (const [name, value] of Object.entries(more)) body.set(name, value);
  const focused = document.activeElement?.id;
  const open = document.getElementById("further")?.open;
  try {
    const told = await post(form.action, body);
    if (mine !== newest) return; // it was changed since
    const typing = document.activeElement?.id;
    const place = document.activeElement?.selectionStart;
    settings.innerHTML = told.html;
    curve.innerHTML = told.curve;
    const further = document.getElementById("further");
    if (further && open) further.open = true;
    const again = document.getElementById(typing || focused);
    again?.focus();
    if (again?.type === "text" && place != null) again.setSelectionRange(place, place);
    if (more.add) settings.querySelector(".promise:nth-last-of-type(3) input")?.focus();
    say(told.said);
    if (told.running) watch();
  } catch (error) {
    tell(alertIn(settings, "save-problem flash bad", "prepend"), error);
  }
}

async function watch() {
  if (watching) return;
  watching = true;
  for (;;) {
    await new Promise((go) => setTimeout(go, 700));
    const told = await ask(at("/promises/curve")).catch(() => null);
    if (told) {
      const open = curve.querySelector("details")?.open;
      curve.innerHTML = told.html;
      if (open) curve.querySelector("details").open = true;
      if (!told.running) break;
    }
  }
  watching = false;
  const sentence = curve.querySelector(".sentence");
  if (sentence) say(sentence.textContent);
}

if (form) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const button = event.submitter;
    if (button?.dataset.adds) {
      save({ add: document.getElementById(button.dataset.adds).value });
    } else if (button?.name) save({ [button.name]: button.value });
    else save();
  });
  form.addEventListener("input", (event) => {
    const other = event.target.dataset.slides;
    if (other) document.getElementById(other).value = event.target.value;
  });
  form.addEventListener("change", (event) => {
    if (event.target.id === "k") document.getElementById("k-slider").value = event.target.value;
    if (event.target.id !== "add-model") save();
  });
  if (curve.querySelector("[data-curve-running]")) watch();
}
