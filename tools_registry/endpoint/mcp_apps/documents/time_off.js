// Absences and requests by day, a month at a time. People have the names that the result gives them.
const DAY = 86400000;
const TAKEN = ["approved", "pending"];
const choice = { result: null, month: "", day: "" };

const parseDay = (day) => (/^\d{4}-\d{2}-\d{2}$/.test(day) ? Date.parse(`${day}T00:00Z`) : NaN);
const writeDay = (at) => new Date(at).toISOString().slice(0, 10);
const formatDay = (day, options) =>
  intl((locale) => new Intl.DateTimeFormat(locale, { timeZone: "UTC", ...options }).format(parseDay(day)));
const formatDate = (day) => formatDay(day, { dateStyle: "medium" });
const personLabel = (row) => String(row.person_name ?? row.person_id ?? "Somebody");

// The day of the person who looks at it.
function findToday() {
  try {
    return new Date().toLocaleDateString("sv", { timeZone: state.context.timeZone });
  } catch {
    return writeDay(Date.now());
  }
}

function groupByDay(rows, month) {
  const days = new Map();
  const first = parseDay(`${month}-01`);
  for (const row of rows.filter((one) => TAKEN.includes(one.status_code))) {
    for (let at = Math.max(parseDay(row.start_date), first); at <= parseDay(row.end_date); at += DAY) {
      const day = writeDay(at);
      if (!day.startsWith(month)) break;
      days.set(day, [...(days.get(day) ?? []), row]);
    }
  }
  return days;
}

const countTaken = (away) => TAKEN.map((status) => away.filter((one) => one.status_code === status).length);

function describeDay(away) {
  return countTaken(away).map((count, index) => (count ? `${formatNumber(count)} ${TAKEN[index]}` : ""))
    .filter(Boolean).join(", ");
}

function makeDay(day, away, choose) {
  const date = String(Number(day.slice(8)));
  const kind = day === findToday() ? "today" : "";
  if (!away) return el("span", { class: "day" }, el("span", { class: kind }, date));
  const [approved, pending] = countTaken(away);
  const attributes = { class: "day", "data-day": day, "aria-pressed": String(choice.day === day) };
  const button = el("button", { ...attributes, "aria-label": `${formatDate(day)}: ${describeDay(away)}` },
    el("span", { class: kind }, date),
    approved ? el("b", {}, formatNumber(approved)) : null,
    pending ? el("i", {}, formatNumber(pending)) : null);
  button.addEventListener("click", () => choose(choice.day === day ? "" : day));
  return button;
}

const listWeek = (monday) => [0, 1, 2, 3, 4, 5, 6].map((number) => writeDay(monday + number * DAY));

function makeMonth(days, choose) {
  const first = parseDay(`${choice.month}-01`);
  const before = (new Date(first).getUTCDay() + 6) % 7;
  const weeks = [];
  for (let at = first - before * DAY; writeDay(at).slice(0, 7) <= choice.month; at += 7 * DAY) {
    weeks.push(el("tr", {}, listWeek(at).map((day) =>
      el("td", {}, day.startsWith(choice.month) ? makeDay(day, days.get(day), choose) : null))));
  }
  const names = listWeek(Date.UTC(2024, 0, 1)).map((day) =>
    el("th", { scope: "col" }, formatDay(day, { weekday: "short" })));
  return el("table", { class: "month", "aria-labelledby": "month" },
    el("thead", {}, el("tr", {}, names)), el("tbody", {}, weeks));
}

function makeAbsence(row) {
  const half = [row.is_from_half_day ? "first day half" : "", row.is_to_half_day ? "last day half" : ""];
  const length = Number.isFinite(row.length) ? `${formatNumber(row.length)} working day${row.length === 1 ? "" : "s"}` : "";
  const days = row.start_date === row.end_date ? formatDate(row.start_date) : `${formatDate(row.start_date)} to ${formatDate(row.end_date)}`;
  const kind = TAKEN.includes(row.status_code) ? row.status_code : "";
  return el("li", { class: kind },
    el("div", {}, quote(personLabel(row))),
    el("div", { class: "quiet" }, [days, length, ...half].filter(Boolean).join(", ")),
    el("div", {}, quote(row.status ?? row.status_code)));
}

function findRange(rows) {
  const given = [state.input.from, state.input.to].filter(parseDay);
  const all = [...rows.flatMap((one) => [one.start_date, one.end_date]), ...given].sort();
  return [all[0].slice(0, 7), all.at(-1).slice(0, 7)];
}

function makeNavigation([first, last]) {
  const [year, index] = choice.month.split("-").map(Number);
  const step = (by, name, limit) => {
    const attributes = { class: "plain", "data-step": by, "aria-label": `${name} month` };
    const button = el("button", attributes, name);
    button.disabled = choice.month === limit;
    button.addEventListener("click", () => {
      Object.assign(choice, { month: writeDay(Date.UTC(year, index - 1 + by, 1)).slice(0, 7), day: "" });
      redraw(`[data-step="${by}"]`);
    });
    return button;
  };
  const name = formatDay(`${choice.month}-01`, { month: "long", year: "numeric" });
  return el("div", { class: "bar-row" }, el("h2", { id: "month" }, name),
    step(-1, "Previous", first), step(1, "Next", last));
}

function redraw(focused) {
  view.setAttribute("aria-live", "off");
  show();
  view.querySelector(focused)?.focus();
}

start("halo-time-off", (result, found) => {
  const data = Array.isArray(found.data) ? found.data : [];
  const rows = data.filter((one) => parseDay(one?.start_date) <= parseDay(one?.end_date))
    .sort((one, other) => (one.start_date < other.start_date ? -1 : 1));
  if (result.isError || !rows.length) {
    return [el("h1", {}, "Time off"), el("pre", {}, result.isError ? resultText(result) : "No time off in this result.")];
  }
  const range = findRange(rows);
  if (choice.result !== result) {
    const wanted = String(state.input.from ?? findToday()).slice(0, 7);
    const start = range[0] <= wanted && wanted <= range[1] ? wanted : range[0];
    Object.assign(choice, { result, month: start, day: "" });
  }
  const days = groupByDay(rows, choice.month);
  const choose = (day) => {
    const pressed = day || choice.day;
    choice.day = day;
    redraw(`[data-day="${pressed}"]`);
  };
  const inMonth = rows.filter((one) => one.start_date.slice(0, 7) <= choice.month && one.end_date.slice(0, 7) >= choice.month);
  const listed = choice.day ? days.get(choice.day) : inMonth;
  return [
    el("h1", {}, "Time off"),
    makeNavigation(range),
    makeMonth(days, choose),
    el("p", { class: "quiet" }, el("span", { class: "key" }), "approved ", el("span", { class: "key open" }), "pending"),
    el("h2", {}, choice.day ? formatDate(choice.day) : "In this month"),
    listed.length ? el("ul", {}, listed.map(makeAbsence)) : el("p", { class: "quiet" }, "No time off in this month."),
    found.pagination?.has_more ? el("p", { class: "quiet" }, "There is more time off than this result has.") : null,
  ];
});
