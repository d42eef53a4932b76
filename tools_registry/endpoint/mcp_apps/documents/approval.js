// A request for approval, or a change that is prepared. Nothing is decided here: a person decides on
// the page of the request, signed in, or when their client asks them to commit the change.
// Whatever an API answers may be in the structured content, so that a card needs our own `_meta`.
const STATUS = {
  pending: "Waiting for approval",
  running: "Approved, not finished yet",
  done: "Approved and carried out",
  failed: "Approved, and failed",
  unknown: "Approved, with an unknown outcome",
  declined: "Rejected",
  expired: "Expired",
};

const makeFacts = (pairs) =>
  el("dl", {}, pairs.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));

function formatMoment(value) {
  const at = new Date(value);
  if (Number.isNaN(at.getTime())) return spellOut(value);
  const options = { dateStyle: "medium", timeStyle: "short" };
  const zone = state.context.timeZone;
  try {
    return new Intl.DateTimeFormat(state.context.locale, { ...options, timeZone: zone }).format(at);
  } catch {
    return new Intl.DateTimeFormat("en", options).format(at);
  }
}

function makePageLink(url, label) {
  if (!/^https?:\/\/[^\s\\]+$/i.test(url ?? "")) return null;
  const address = el("p", { class: "quiet" }, "Open this address in your browser: ", el("code", {}, url));
  address.hidden = state.opensLinks;
  const link = el("a", { class: "button", href: url, target: "_blank", rel: "noopener noreferrer" }, label);
  link.addEventListener("click", async (event) => {
    event.preventDefault();
    try {
      address.hidden = !(await request("ui/open-link", { url }))?.isError;
    } catch {
      address.hidden = false;
    }
  });
  return el("div", {}, link, address);
}

function readable(value) {
  if (value === null) return "nothing";
  if (typeof value === "boolean") return value ? "yes" : "no";
  return value;
}

function makeChange(prepared) {
  const { difference, person, frozen_payload: payload = {}, expires_at: until } = prepared;
  const rows = difference.map((one) =>
    el("tr", {},
      el("th", { scope: "row" }, quote(String(one.field).replaceAll("_", " "))),
      el("td", {}, "from" in one ? quote(readable(one.from)) : el("span", { class: "quiet" }, "not shown")),
      el("td", {}, quote(readable(one.to)))));
  const head = ["Field", "Now", "Then"].map((name) => el("th", { scope: "col" }, name));
  return [
    el("p", { class: "badge" }, "Prepared, not made"),
    el("h1", {}, quote(payload.operation_id ?? "Change")),
    el("pre", {}, `${payload.method ?? ""} ${payload.path ?? ""}`),
    el("table", {}, el("thead", {}, el("tr", {}, head)), el("tbody", {}, rows)),
    rows.length ? null : el("p", {}, "Nothing would be different."),
    makeFacts([
      ...(person ? [["Person", [quote(person.display_name), " ", el("span", { class: "quiet" }, quote(person.id))]]] : []),
      ["Who can decide", "You: your client asks you before the change is made."],
      ["Until", formatMoment(until)],
    ]),
    el("p", { class: "quiet" }, "Nothing is changed yet, and nothing can be decided here."),
  ];
}

const makeRest = () => el("p", { class: "quiet" }, "The rest is on the page of the request.");

function makeSent(card) {
  const listed = card.arguments ?? [];
  return [
    el("h2", {}, "What will be sent"),
    card.request ? el("pre", { tabindex: "0" }, card.request) : null,
    card.isRequestCut ? makeRest() : null,
    makeFacts(listed.map((one) => [
      quote(one.name),
      [
        quote(one.text),
        one.isCut ? makeRest() : null,
        one.isDeclared ? null : el("p", {}, el("strong", {}, "Not in the API's description")),
      ],
    ])),
    card.omitted ? el("p", {}, `${formatNumber(card.omitted)} more on the page of the request.`) : null,
  ];
}

function makeRequest(card) {
  const waits = card.status === "pending";
  const label = Object.hasOwn(STATUS, card.status) ? STATUS[card.status] : "Request for approval";
  return [
    el("p", { class: "badge" }, label),
    el("h1", {}, quote(card.summary ?? "Request for approval")),
    card.project ? el("p", { class: "quiet" }, quote(card.project)) : null,
    card.arguments ? el("section", {}, makeSent(card)) : null,
    makeFacts([
      ...(waits ? [["Who can decide", quote(card.deciders)], ["Until", formatMoment(card.expiresAt)]] : []),
    ]),
    makePageLink(card.url, "Open the request"),
    waits ? el("p", { class: "quiet" }, "A person decides on that page, signed in. Nothing can be decided here.") : null,
  ];
}

function makeEnded(result) {
  return [
    el("p", { class: "badge" }, result.isError ? "Error" : "Result"),
    el("pre", { tabindex: "0" }, resultText(result) || "The result has no text."),
  ];
}

start("halo-approval", (result, found) => {
  if (!result.isError && result._meta?.preparedChange) return makeChange(found);
  if (!result.isError && result._meta?.approval) return makeRequest(result._meta.approval);
  return makeEnded(result);
});
