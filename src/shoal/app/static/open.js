// Opening a table: drop it, look around, turn pages.

import { ask, at, say, tell } from "./app.js";

const drop = document.getElementById("drop");
const file = document.getElementById("file");
const bar = document.getElementById("drop-bar");
const wrong = document.getElementById("drop-error");

const isJob = (each) => each.name.toLowerCase().endsWith(".toml");

// Files go one after another; more than one belong to the page of several tables.
function send(files) {
  const several = files.length > 1 || drop.dataset.several === "yes";
  const left = [...files].sort((a, b) => isJob(a) - isJob(b)); // a job is about tables that are there
  const next = (place) => {
    const chosen = left.shift();
    if (chosen) sendOne(chosen, several ? "/tables/upload" : "/open/upload", next);
    else if (place) location.assign(at(place));
  };
  next("");
}

function sendOne(chosen, place, then) {
  wrong.hidden = true;
  bar.hidden = false;
  const request = new XMLHttpRequest(); // fetch cannot tell how much has been sent
  request.open("POST", at(`${place}?name=${encodeURIComponent(chosen.name)}`));
  request.setRequestHeader("accept", "application/json");
  request.responseType = "json";
  request.upload.onprogress = (now) => {
    if (now.lengthComputable) bar.value = (100 * now.loaded) / now.total;
  };
  request.onloadend = () => {
    bar.hidden = true;
    if (request.status === 200) {
      then(request.response.next);
    } else {
      tell(wrong, request.response?.error ? request.response : { error: wrong.dataset.lost });
    }
  };
  request.send(chosen);
}

file?.addEventListener("change", () => send(file.files));
for (const name of ["dragenter", "dragover"]) {
  document.addEventListener(name, (event) => {
    event.preventDefault();
    drop.classList.add("over");
  });
}
document.addEventListener("dragleave", (event) => {
  if (!event.relatedTarget) drop.classList.remove("over");
});
document.addEventListener("drop", (event) => {
  event.preventDefault();
  drop.classList.remove("over");
  send(event.dataTransfer.files);
});

const list = document.getElementById("browse");
const button = document.getElementById("browse-button");
const path = document.getElementById("path");

async function look(folder) {
  try {
    list.innerHTML = (await ask(at(`/open/browse?folder=${encodeURIComponent(folder)}`))).html;
  } catch (error) {
    tell(list, error);
  }
  list.hidden = false;
  list.querySelector("button")?.focus();
}

if (button) {
  button.hidden = false;
  button.addEventListener("click", () => {
    const closed = list.hidden;
    button.setAttribute("aria-expanded", String(closed));
    if (closed) look("");
    else list.hidden = true;
  });
  list.addEventListener("click", (event) => {
    const chosen = event.target.closest("button");
    if (!chosen) return;
    if (chosen.dataset.folder !== undefined) look(chosen.dataset.folder);
    else {
      path.value = chosen.dataset.file;
      path.form.requestSubmit();
    }
  });
}

const preview = document.getElementById("preview");
preview?.addEventListener("click", async (event) => {
  const link = event.target.closest("a[data-page]");
  if (!link) return;
  event.preventDefault();
  const words = link.textContent;
  preview.innerHTML = (await ask(at(`/open/rows?page=${link.dataset.page}`))).html;
  say(preview.querySelector("caption").textContent);
  const links = [...preview.querySelectorAll(".pager a")];
  const same = links.find((each) => each.textContent === words && each.href);
  (same || links.find((each) => each.href))?.focus();
});
