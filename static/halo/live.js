/* <section id="..." data-live="VERSION">: the page is read again every three seconds, at first sooner,
   and what has another version is replaced. Nothing is read while the page is hidden, or after a
   section has no version. If a section is gone, the address now leads to another page, which is
   loaded. Without script, the reader loads the page again. */

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
          location.reload();
          return;
        }
        if (versionOf(fresh) === versionOf(section)) continue;
        // The element stays: screen readers announce what changes within it.
        section.replaceChildren(...fresh.childNodes);
        section.dataset.live = versionOf(fresh);
      }
    } catch {
      // The server cannot be reached; the next attempt may succeed.
    }
  }
}

follow();
