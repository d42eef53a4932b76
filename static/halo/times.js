/* Times in the reader's time zone.

   <time datetime="2026-11-22T21:14:30+00:00" data-local="time">Nov 22, 2026, 21:14:30 UTC</time>

   data-local="time" shows date, time with seconds, and zone; data-local="date" shows the date. What
   the server wrote, in UTC, becomes the title. Without script it stays as it is. */

const STYLES = {
  time: { dateStyle: "medium", timeStyle: "long" },
  date: { dateStyle: "medium" },
};

for (const element of document.querySelectorAll("time[data-local]")) {
  const at = new Date(element.dateTime);
  const style = STYLES[element.dataset.local];
  if (Number.isNaN(at.getTime()) || !style) continue;
  element.title = element.textContent.trim();
  element.textContent = new Intl.DateTimeFormat(document.documentElement.lang, style).format(at);
}
