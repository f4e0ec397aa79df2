// Trees and grids: previews while one types, edits without a reload, dragging as a second way.

import { ask, post, say, tell } from "./app.js";

const wait = (time) => {
  let timer;
  return (go) => {
    clearTimeout(timer);
    timer = setTimeout(go, time);
  };
};

// -- previews --------------------------------------------------------------------------------

for (const form of document.querySelectorAll("form[data-try]")) {
  const into = document.getElementById(form.dataset.into);
  const error = document.getElementById(`${form.dataset.into}-error`);
  const later = wait(350);
  const show = async () => {
    const asked = new URLSearchParams(new FormData(form));
    try {
      const told = await ask(`${form.dataset.try}?${asked}`);
      into.innerHTML = told.html;
      error.hidden = true;
    } catch (problem) {
      tell(error, problem);
      into.textContent = "";
    }
  };
  form.addEventListener("input", () => later(show));
  form.querySelector("[data-preview]")?.addEventListener("click", show);
}

for (const button of document.querySelectorAll("[data-set]")) {
  button.addEventListener("click", () => {
    const field = document.querySelector(`[name="${button.dataset.set}"]`);
    field.value = button.dataset.value;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
}

const build = document.getElementById("build");
function fitFields() {
  const method = build.elements.method.value;
  for (const label of build.querySelectorAll("[data-for]")) {
    label.hidden = label.dataset.for !== method;
  }
}
if (build) {
  build.elements.method.addEventListener("change", fitFields);
  fitFields();
}

// -- the editor ------------------------------------------------------------------------------

const editor = document.getElementById("editor");
const closed = new Set();

function remember() {
  closed.clear();
  for (const node of editor.querySelectorAll("li.node")) {
    const details = node.querySelector("details");
    closed.add(`${node.dataset.label}\n${details.open}`);
  }
}

function restore() {
  for (const node of editor.querySelectorAll("li.node")) {
    const details = node.querySelector("details");
    if (closed.has(`${node.dataset.label}\nfalse`)) details.open = false;
    if (closed.has(`${node.dataset.label}\ntrue`)) details.open = true;
    node.draggable = true;
  }
  for (const leaf of editor.querySelectorAll("li.leaf")) leaf.draggable = true;
  count();
}

function count() {
  const place = document.getElementById("n-chosen");
  const chosen = editor.querySelectorAll('input[name="labels"]:checked').length;
  if (place) place.textContent = chosen ? `(${chosen})` : "";
}

async function send(body, focus) {
  const form = document.getElementById("edit-form");
  remember();
  const error = document.getElementById("edit-error");
  try {
    const told = await post(form.action, body);
    editor.innerHTML = told.html;
    restore();
    say(told.said);
  } catch (problem) {
    tell(error, problem);
  }
  const again = document.getElementById(focus);
  if (again && !again.disabled) again.focus();
  else editor.querySelector("summary")?.focus();
}

if (editor) {
  restore();
  editor.addEventListener("change", count);
  editor.addEventListener("submit", (event) => {
    if (event.target.id !== "edit-form") return;
    event.preventDefault();
    const button = event.submitter;
    const body = new URLSearchParams(new FormData(event.target));
    if (button?.name) body.set(button.name, button.value);
    else body.set("edit", "rename"); // Enter in the field of the name
    send(body, button?.id);
  });
  editor.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.target.matches("input[name=name]")) return;
    const undo = event.key === "z" && !event.shiftKey;
    const redo = event.key === "y" || (event.key.toLowerCase() === "z" && event.shiftKey);
    if (!undo && !redo) return;
    event.preventDefault();
    document.getElementById(undo ? "undo" : "redo").click();
  });

  let dragged = null;
  editor.addEventListener("dragstart", (event) => {
    const item = event.target.closest?.("li[data-label]");
    if (!item) return;
    dragged = item.dataset.label;
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", dragged);
  });
  const target = (event) => event.target.closest?.("li[data-inner]");
  editor.addEventListener("dragover", (event) => {
    const node = target(event);
    if (dragged === null || !node) return;
    event.preventDefault();
    editor.querySelectorAll(".over").forEach((each) => each.classList.remove("over"));
    node.classList.add("over");
  });
  editor.addEventListener("dragend", () => {
    dragged = null;
    editor.querySelectorAll(".over").forEach((each) => each.classList.remove("over"));
  });
  editor.addEventListener("drop", (event) => {
    const node = target(event);
    if (dragged === null || !node) return;
    event.preventDefault();
    const body = new URLSearchParams();
    const boxes = [...editor.querySelectorAll('input[name="labels"]:checked')];
    const chosen = boxes.map((box) => box.value);
    for (const label of chosen.includes(dragged) ? chosen : [dragged]) body.append("labels", label);
    body.set("to", node.dataset.label);
    body.set("edit", "move");
    dragged = null;
    send(body, "undo");
  });
}
