// What pages do beyond plain HTML: live updates, copying, confirmations, relative times, keyboard shortcuts.
"use strict";

const toast = document.getElementById("toast");

function say(text) {
  toast.textContent = text;
  toast.classList.toggle("shown", text !== "");
  clearTimeout(say.timer);
  if (text) say.timer = setTimeout(() => say(""), 6000);
}

// Live sections.

function isBusy(part) {
  const active = document.activeElement;
  if (part.contains(active) && active.matches("input, textarea, select, button:focus-visible")) return true;
  if (part.querySelector(":active")) return true;
  if (part.querySelector("input[type=checkbox]:checked")) return true;
  if ([...part.querySelectorAll("input:not([type=checkbox], [type=radio], [type=hidden]), textarea")].some((field) => field.value !== field.defaultValue)) return true;
  if ([...part.querySelectorAll("option")].some((option) => option.selected !== option.defaultSelected && option.parentElement.querySelector("[selected]"))) return true;
  const selection = getSelection();
  return !selection.isCollapsed && part.contains(selection.anchorNode);
}

function replace(part, html) {
  const opened = [...part.querySelectorAll("details[open][id]")].map((details) => details.id);
  const focused = part.contains(document.activeElement) ? document.activeElement.id || document.activeElement.getAttribute("href") : null;
  const scrolled = [...part.querySelectorAll(".scroll")].map((box) => [box.scrollLeft, box.scrollTop]);
  part.innerHTML = html;
  for (const id of opened) {
    const details = document.getElementById(id);
    if (details) details.open = true;
  }
  if (focused) {
    const again = document.getElementById(focused) || part.querySelector(`[href="${CSS.escape(focused)}"]`);
    if (again) again.focus({ preventScroll: true });
  }
  part.querySelectorAll(".scroll").forEach((box, index) => {
    if (scrolled[index]) [box.scrollLeft, box.scrollTop] = scrolled[index];
  });
  updateTimes(part);
}

// The server sends something at least every five seconds.
const silenceMax = 15000;
// A refused stream is retried with backoff.
const pauseFirst = 2000;
const pauseMax = 60000;

// The stream is open only while the page is visible: a browser keeps six connections to a server, and the server
// limits the number of streams.
function stayLive(at) {
  const waiting = new Map();
  let source = null;
  let again = 0;
  let pause = pauseFirst;
  let heard = Date.now();
  const hear = () => {
    heard = Date.now();
    pause = pauseFirst;
    document.body.classList.remove("stale");
  };
  const lose = () => document.body.classList.add("stale");
  const open = () => {
    heard = Date.now();
    source = new EventSource("/ui/live?at=" + encodeURIComponent(at));
    source.addEventListener("part", (event) => {
      hear();
      const { id, html } = JSON.parse(event.data);
      waiting.set(id, html);
      settle();
    });
    source.addEventListener("here", hear);
    source.addEventListener("open", hear);
    source.addEventListener("error", () => {
      lose();
      // The browser does not retry a refused stream. The page is not reloaded: the user may have typed into it.
      if (source.readyState !== EventSource.CLOSED) return;
      again = setTimeout(open, pause);
      pause = Math.min(2 * pause, pauseMax);
    });
    source.addEventListener("unavailable", lose);
    source.addEventListener("signed-out", () => location.reload());
  };
  const close = () => {
    clearTimeout(again);
    if (source) source.close();
    source = null;
  };
  const settle = () => {
    for (const [id, html] of waiting) {
      const part = document.getElementById(id);
      if (!part || isBusy(part)) continue;
      waiting.delete(id);
      replace(part, html);
    }
  };
  const look = () => {
    close();
    if (!document.hidden) open();
  };
  document.addEventListener("visibilitychange", look);
  look();
  setInterval(() => {
    settle();
    if (source && Date.now() - heard > silenceMax) lose();
  }, 1000);
}

// Times.

function ago(then) {
  const seconds = Math.round((Date.now() - then) / 1000);
  const size = Math.abs(seconds);
  const text =
    size < 2 ? "now" :
    size < 90 ? `${size} s` :
    size < 5400 ? `${Math.round(size / 60)} min` :
    size < 129600 ? `${Math.round(size / 3600)} h` :
    `${Math.round(size / 86400)} d`;
  return text === "now" ? text : seconds > 0 ? `${text} ago` : `in ${text}`;
}

function updateTimes(root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const text = ago(Date.parse(time.dateTime));
    if (time.textContent !== text) time.textContent = text;
  }
}

// The theme.

const themes = ["system", "light", "dark"];

function showTheme(button) {
  button.textContent = "Theme: " + (document.documentElement.dataset.theme || "system");
}

function switchTheme(button) {
  const now = document.documentElement.dataset.theme || "system";
  const next = themes[(themes.indexOf(now) + 1) % themes.length];
  if (next === "system") {
    delete document.documentElement.dataset.theme;
    localStorage.removeItem("sortie-theme");
  } else {
    document.documentElement.dataset.theme = next;
    localStorage.setItem("sortie-theme", next);
  }
  showTheme(button);
}

// Clicks and forms.

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.matches("[data-theme-switch]")) switchTheme(button);
  if (button.matches("[data-copy]")) {
    const code = button.parentElement.querySelector("code");
    copy(code.textContent, button).then(() => say("Copied."), () => {
      getSelection().selectAllChildren(code);
      say("The browser did not allow copying. The text is selected: press Ctrl+C to copy it.");
    });
  }
});

// Over plain HTTP, browsers offer the clipboard API only on localhost; elsewhere only the selection can be copied.
async function copy(text, button) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = document.createElement("textarea");
  field.value = text;
  field.readOnly = true;
  field.classList.add("unseen");
  button.after(field);
  field.focus({ preventScroll: true });
  field.select();
  const copied = document.execCommand("copy");
  field.remove();
  button.focus({ preventScroll: true });
  if (!copied) throw new Error("not allowed");
}

document.addEventListener("submit", (event) => {
  const question = event.target.dataset.question;
  if (question && !confirm(question)) event.preventDefault();
});

document.addEventListener("change", (event) => {
  const all = event.target.closest("[data-all]");
  if (!all) return;
  const boxes = document.querySelectorAll(`input[type=checkbox][name="${CSS.escape(all.dataset.all)}"]`);
  for (const box of boxes) box.checked = all.checked;
});

// Keyboard shortcuts: / to search, g and a letter to open a page.

const places = { o: "/", r: "/ui/runs", p: "/ui/parked", w: "/ui/workflows", j: "/ui/jobs", q: "/ui/queues", s: "/ui/services", b: "/ui/bulk", d: "/docs" };
let going = 0;

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea, select")) return;
  if (event.key === "/") {
    const field = document.querySelector("form[role=search] input:not([type=hidden])");
    if (field) {
      event.preventDefault();
      field.focus();
    }
  } else if (event.key === "g") {
    going = Date.now();
  } else if (places[event.key] && Date.now() - going < 1200) {
    location.href = places[event.key];
  }
});

// The message of the last submitted form.

function showMessage() {
  const match = document.cookie.match(/(?:^|; )sortie_message=([^;]*)/);
  if (!match) return;
  document.cookie = "sortie_message=; Path=/; Max-Age=0; SameSite=Strict";
  say(decodeURIComponent(match[1]));
}

const themeButton = document.querySelector("[data-theme-switch]");
if (themeButton) showTheme(themeButton);
showMessage();
updateTimes(document);
setInterval(() => updateTimes(document), 1000);
if (document.body.dataset.liveAt) stayLive(document.body.dataset.liveAt);
