/* Keys for a list whose rows have links <a id="..." data-row>: j moves the focus to the next link, k to
   the one before, and Enter opens it, as for any link.

   <label data-row-keys hidden><input type="checkbox" checked> ...</label>, which is shown by this script,
   switches the keys off for this browser: people who speak or have a tremor send single letters
   unintentionally (WCAG 2.2, 2.1.4). The keys do nothing in text fields, and with Ctrl, Alt or Meta.

   A live refresh replaces the links. The focus goes on from the same link, or from the place of one that
   is gone. */

const STORED = "row-keys-off";
const STEPS = { j: 1, k: -1 };
const TYPED_IN = "input:not([type=checkbox], [type=radio], [type=submit]), textarea, select, [contenteditable]";

const label = document.querySelector("[data-row-keys]");
const box = label.querySelector("input");
let last = { id: "", place: -1 };

// Without storage, as in a browser that keeps nothing, the box applies to this page.
try {
  box.checked = !localStorage.getItem(STORED);
} catch {}
box.addEventListener("change", () => {
  try {
    if (box.checked) localStorage.removeItem(STORED);
    else localStorage.setItem(STORED, "1");
  } catch {}
});
label.hidden = false;

function findNext(links, step) {
  const focused = document.activeElement?.closest("li")?.querySelector("a[data-row]");
  const place = links.findIndex((link) => (focused ? link === focused : link.id === last.id));
  if (place >= 0) return place + step;
  // The link at the place of one that is gone is the next one already.
  return step > 0 ? Math.max(last.place, 0) : last.place - 1;
}

document.addEventListener("keydown", (event) => {
  const step = STEPS[event.key];
  if (!step || !box.checked || event.defaultPrevented) return;
  if (event.ctrlKey || event.altKey || event.metaKey || event.target.closest(TYPED_IN)) return;
  const links = [...document.querySelectorAll("a[data-row]")];
  if (!links.length) return;
  const place = Math.min(Math.max(findNext(links, step), 0), links.length - 1);
  last = { id: links[place].id, place };
  links[place].focus();
});
