/* The page of an import: while the worker checks or imports the file, its status is read again every
   second, and the page is loaded again when that ends. Without script, its link does this. */

const PAUSE = 1_000;

async function follow(shown) {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
    try {
      const response = await fetch(location.href, { credentials: "same-origin" });
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      const now = page.querySelector("#import-status");
      if (!now?.hasAttribute("data-running")) break;
      // Only what has changed: a status that is replaced is read aloud again.
      for (const name of ["strong", "p:has(progress)"]) {
        const [old, fresh] = [shown.querySelector(name), now.querySelector(name)];
        if (old.innerHTML !== fresh.innerHTML) old.replaceChildren(...fresh.childNodes);
      }
    } catch {
      // The server cannot be reached; the next attempt may succeed.
    }
  }
  location.reload();
}

const shown = document.querySelector("#import-status[data-running]");
if (shown) follow(shown);
