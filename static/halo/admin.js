/* The admin's lists: the full text of a cell that is cut off becomes its title, and a filter that is
   open is closed by Escape or a click elsewhere. Without script a row's own page has the text. */

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
