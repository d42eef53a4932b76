/* Copy buttons.

   <button type="button" hidden data-copy="#id" data-copied="Copied">Copy</button>

   copies the text (or the value, for a field) of the element that the selector names. The button
   stays hidden without script or without it. For two seconds it shows data-copied, which is also
   announced to screen readers.

   <article data-copy-code="Copy" data-copied="Copied">

   gets a button below each of its code blocks. */

const SHOWN_FOR = 2_000;

for (const article of document.querySelectorAll("[data-copy-code]")) {
  for (const [number, block] of article.querySelectorAll("pre").entries()) {
    block.id ||= `code-${number + 1}`;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "link-button small copy-code";
    button.textContent = article.dataset.copyCode;
    button.dataset.copy = `#${block.id}`;
    button.dataset.copied = article.dataset.copied;
    block.after(button);
  }
}

const buttons = document.querySelectorAll("button[data-copy]");

const status = document.createElement("span");
status.className = "visually-hidden";
status.setAttribute("role", "status");
if (buttons.length) document.body.append(status);

const textOf = (source) => ("value" in source ? source.value : source.innerText).trim();

function select(source) {
  const range = document.createRange();
  range.selectNodeContents(source);
  const selection = window.getSelection();
  selection.removeAllRanges();
  selection.addRange(range);
}

/* The clipboard exists on https and on localhost only; elsewhere the text is selected. */
async function copy(source) {
  try {
    await navigator.clipboard.writeText(textOf(source));
    return true;
  } catch {
    select(source);
    return document.execCommand("copy");
  }
}

for (const button of buttons) {
  const source = document.querySelector(button.dataset.copy);
  if (!source) continue;
  const label = button.textContent;
  let timer;
  button.hidden = false;
  button.addEventListener("click", async () => {
    if (!(await copy(source))) return;
    status.textContent = button.textContent = button.dataset.copied ?? label;
    clearTimeout(timer);
    timer = setTimeout(() => {
      button.textContent = label;
      status.textContent = "";
    }, SHOWN_FOR);
  });
}
