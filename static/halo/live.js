/* <section id="..." data-live="VERSION">: the page is read again every three seconds, at first sooner,
   and what has another version is replaced. Nothing is read while the page is hidden, or after a
   section has no version. If a section is gone, the address now leads to another page, which is
   loaded. Without script, the reader loads the page again.

   What was typed in a section stays: in the field of the new version, else behind the section in a
   copy of <template id="typed-text">, which says that it was not sent. */

const PAUSE = 3_000;
const FIRST_PAUSE = 500;

const versionOf = (section) => section?.dataset.live ?? "";

async function read() {
  const response = await fetch(location.href, {
    credentials: "same-origin",
    headers: { Accept: "text/html" },
  });
  if (!response.ok) throw new Error(String(response.status));
  return new DOMParser().parseFromString(await response.text(), "text/html");
}

const isChanged = (field) =>
  field.type === "hidden" ? false
    : field.options ? [...field.options].some((one) => one.selected !== one.defaultSelected)
    : field.checked !== field.defaultChecked || field.value !== field.defaultValue;

function readTyped(section) {
  const fields = [...section.querySelectorAll("input[name], textarea[name], select[name]")];
  return fields
    .filter((field) => isChanged(field) || (field === document.activeElement && field.value))
    .map((field) => ({ field, action: field.form?.action, isFocused: field === document.activeElement }));
}

function putBack(section, typed) {
  const fields = [...section.querySelectorAll("[name]")];
  for (const { field, action, isFocused } of typed) {
    const fresh = fields.find((one) => one.name === field.name && one.form?.action === action);
    if (fresh) {
      // The element itself: with its text, its cursor and what can be undone in it.
      fresh.replaceWith(field);
      if (isFocused) field.focus();
    } else if (field.value && field.type !== "password") {
      const copy = document.getElementById("typed-text")?.content.cloneNode(true);
      if (!copy) continue;
      copy.querySelector("textarea").value = field.value;
      // Behind the section: its next version replaces all that is in it.
      section.after(copy);
    }
  }
}

async function follow() {
  for (let pause = FIRST_PAUSE; ; pause = Math.min(2 * pause, PAUSE)) {
    await new Promise((resolve) => setTimeout(resolve, pause));
    const shown = [...document.querySelectorAll("[data-live]")].filter(versionOf);
    if (!shown.length) return;
    if (document.hidden) continue;
    try {
      const page = await read();
      for (const section of shown) {
        const fresh = page.getElementById(section.id);
        if (!fresh) {
          // The session ended, or the address leads elsewhere. What was typed waits for its button.
          if (shown.some((one) => readTyped(one).length)) continue;
          location.reload();
          return;
        }
        if (versionOf(fresh) === versionOf(section)) continue;
        const typed = readTyped(section);
        // The element stays: screen readers announce what changes within it.
        section.replaceChildren(...fresh.childNodes);
        putBack(section, typed);
        section.dataset.live = versionOf(fresh);
      }
    } catch {
      // The server cannot be reached; the next attempt may succeed.
    }
  }
}

follow();
