/* <section id="..." data-live="VERSION">: the page is read again every three seconds, and what has
   another version is replaced. Nothing is read while the page is hidden, or after a section has no
   version. Without script, the reader loads the page again. */

const PAUSE = 3_000;

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
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
    const shown = [...document.querySelectorAll("[data-live]")].filter(versionOf);
    if (!shown.length) return;
    if (document.hidden) continue;
    try {
      const page = await read();
      for (const section of shown) {
        const fresh = page.getElementById(section.id);
        if (!fresh || versionOf(fresh) === versionOf(section)) continue;
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
