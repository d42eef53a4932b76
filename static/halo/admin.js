/* The admin's lists: the full text of a cell that is cut off becomes its title, and a filter that is
   open is closed by Escape or a click elsewhere. Without script a row's own page has the text.
   A box in which a row is searched for is named by the label of its field. */

for (const cell of document.querySelectorAll("#result_list :is(td, th)")) {
  if (cell.scrollWidth > cell.clientWidth && !cell.title) cell.title = cell.innerText.trim();
}

const filters = document.querySelectorAll("#changelist-filter details");

function close(except) {
  for (const filter of filters) if (filter !== except) filter.open = false;
}

document.addEventListener("click", (event) => close(event.target.closest("#changelist-filter details")));
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  const open = [...filters].find((filter) => filter.open);
  close();
  open?.querySelector("summary").focus();
});

function nameBoxes(root) {
  for (const box of root.querySelectorAll(".select2-selection")) {
    const field = box.closest(".select2-container").previousElementSibling;
    const label = document.querySelector(`label[for="${field.id}"]`);
    for (const part of [box, box.querySelector(".select2-selection__rendered")]) {
      part?.removeAttribute("aria-labelledby");
      part?.setAttribute("aria-label", field.getAttribute("aria-label") || label?.innerText || "");
    }
  }
}

// Django makes the boxes when the document is ready, by a callback that is registered before this
// one, and in a new row of a table when it is added.
window.django?.jQuery?.(() => nameBoxes(document));
document.addEventListener("formset:added", (event) => setTimeout(() => nameBoxes(event.target)));
