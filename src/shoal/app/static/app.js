// What every page has: questions to the server, and watching work behind the page.

document.documentElement.classList.add("script");

// Our pages lie below a path of their own; a path of the server is inside it.
export const at = (path) => new URL(`..${path}`, import.meta.url);

export function say(text) {
  const live = document.getElementById("live");
  if (live) live.textContent = text;
}

function problem(told, otherwise) {
  const error = new Error(told?.error || otherwise);
  error.lead = (told?.error && told.lead) || "";
  return error;
}

// Shows an error: an English one is introduced in the language of the page, and marked.
// The alert of a form, or of a part of the page; made where there is none yet.
export function alertIn(parent, classes, put) {
  const [name] = classes.split(" ");
  const found = parent.querySelector(`.${name}`);
  if (found) return found;
  const place = document.createElement("p");
  place.className = classes;
  place.setAttribute("role", "alert");
  parent[put](place);
  return place;
}

export function tell(place, told) {
  const text = told.message ?? told.error;
  place.textContent = text;
  if (told.lead) {
    const quoted = document.createElement("q");
    quoted.lang = "en";
    quoted.textContent = text;
    place.replaceChildren(`${told.lead} `, quoted);
  }
  place.hidden = false;
}

export async function ask(path, options = {}) {
  const headers = { accept: "application/json", ...(options.headers || {}) };
  const response = await fetch(path, { ...options, headers, redirect: "error" });
  const told = await response.json().catch(() => ({}));
  if (!response.ok) throw problem(told, `${response.status}`);
  return told;
}

export const post = (path, body) => ask(path, { method: "POST", body });

const pause = (time) => new Promise((go) => setTimeout(go, time));

// Calls show(told) until the task is over; returns what was told last.
export async function watch(id, show) {
  for (;;) {
    let told;
    try {
      told = await ask(at(`/task/${id}`));
    } catch {
      await pause(1000);
      continue;
    }
    show(told);
    if (told.state !== "running") return told;
    await pause(300);
  }
}

async function follow(place) {
  const part = (name) => place.querySelector(`.task-${name}`);
  const cancel = part("cancel");
  cancel?.addEventListener("click", () => {
    cancel.disabled = true;
    post(at(`/task/${place.dataset.task}/cancel`));
  });
  if (cancel) cancel.disabled = false; // from now on a click is heard
  let stage = "";
  const told = await watch(place.dataset.task, (now) => {
    const bar = part("bar");
    if (now.share === null) bar.removeAttribute("value");
    else bar.value = 100 * now.share;
    part("stage").textContent = now.what;
    part("left").textContent = now.left;
    if (now.what !== stage) say((stage = now.what));
  });
  if (told.state === "failed") {
    const error = part("error");
    tell(error, told);
    part("bar").hidden = true;
    if (cancel) cancel.hidden = true;
  } else {
    const next = told.next ? at(told.next) : new URL(location.pathname, location.href);
    // To another place of the same page a browser only scrolls, and it has to be made anew.
    const here = next.pathname === location.pathname && next.search === location.search;
    if (here) {
      location.hash = next.hash;
      location.reload();
    } else {
      location.assign(next);
    }
  }
}

for (const place of document.querySelectorAll("[data-task]")) follow(place);
