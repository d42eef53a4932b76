/* Halo Agents for web pages: identify, track, and page views, clicks and forms by themselves.

     window.HaloAgents.init({ orgId: "...", apiKey: "ab_live_..." });

   Events are sent in batches. A batch that fails is sent again, with the same ids, so nothing is
   stored twice. Each event is of the person who was signed in when it happened. With Do Not Track or Global Privacy Control, no event is recorded. Of a form or a
   field, neither values nor texts are read, and of an address no query and no fragment. */

(function (root, factory) {
  if (typeof define === "function" && define.amd) define([], factory);
  else if (typeof module === "object" && module.exports) module.exports = factory();
  else root.HaloAgents = factory();
})(typeof self === "undefined" ? this : self, function () {
  "use strict";

  const MAX_BATCH = 50;
  const MAX_QUEUE = 1000;
  // sendBeacon takes at most 64 KB for all requests that are under way.
  const MAX_BEACON = 60_000;
  const FLUSH_AFTER = 2_000;
  const MAX_WAIT = 60_000;
  const SESSION = "haloagents.session";
  const CLICKABLE = "a,button,input,select,summary,label,[role=button],[data-halo]";

  const script = typeof document === "undefined" ? null : document.currentScript;
  // Events with the token of the moment at which they happened.
  const queue = [];
  let settings = null;
  let token = "";
  let userId = "";
  let inFlight = [];
  let failures = 0;
  let timer = 0;
  let lastPage = "";

  const refusesTracking = () =>
    navigator.globalPrivacyControl === true ||
    [navigator.doNotTrack, window.doNotTrack].some((said) => said === "1" || said === "yes");

  const randomId = () =>
    [...crypto.getRandomValues(new Uint8Array(16))]
      .map((byte) => byte.toString(16).padStart(2, "0"))
      .join("");

  const now = () => new Date().toISOString();

  function session() {
    try {
      const known = sessionStorage.getItem(SESSION) || randomId();
      sessionStorage.setItem(SESSION, known);
      return known;
    } catch {
      return (session.kept ||= randomId());
    }
  }

  const address = () => (location.origin + location.pathname).slice(0, 2048);

  /* A path of tag names, ids and classes, from the element to the nearest id. */
  function selector(element) {
    const path = [];
    for (let one = element; one && one.nodeType === 1 && path.length < 5; one = one.parentElement) {
      // A form has its fields as properties: one that is named id hides the form's own.
      const id = one.getAttribute("id");
      if (id) {
        path.unshift(`#${CSS.escape(id)}`);
        break;
      }
      const names = [...one.classList].slice(0, 2).map((name) => `.${CSS.escape(name)}`);
      path.unshift(one.localName + names.join(""));
    }
    return path.join(" > ").slice(0, 500);
  }

  function record(event) {
    if (!settings || refusesTracking() || queue.length >= MAX_QUEUE) return;
    const said = {
      id: randomId(),
      at: now(),
      session_id: session(),
      page_url: address(),
      ...event,
    };
    if (userId) said.user_id = userId;
    queue.push({ event: said, bearer: token });
    if (queue.length >= MAX_BATCH) flush();
    else schedule(FLUSH_AFTER);
  }

  function schedule(wait) {
    timer ||= setTimeout(flush, wait);
  }

  function post(path, body, bearer) {
    const headers = { "Content-Type": "application/json", "X-Api-Key": settings.apiKey };
    if (bearer) headers.Authorization = `Bearer ${bearer}`;
    return fetch(settings.apiUrl + path, {
      method: "POST",
      mode: "cors",
      credentials: "omit",
      headers,
      body: JSON.stringify(body),
    });
  }

  const isTemporary = (status) => status === 429 || status >= 500;

  const eventsOf = (entries) => entries.map(({ event }) => event);

  /* The first entries that have the same token. */
  function takeBatch(entries) {
    const end = entries.findIndex(({ bearer }) => bearer !== entries[0].bearer);
    return entries.splice(0, Math.min(MAX_BATCH, end < 0 ? entries.length : end));
  }

  /* The token has expired: the page gets another one, if it is still that of the same person. */
  async function renew(bearer) {
    const renewed = (await settings.getUserToken()) || "";
    if (bearer !== token) return false;
    token = renewed;
    for (const entry of [...inFlight, ...queue]) if (entry.bearer === bearer) entry.bearer = token;
    return true;
  }

  async function flush() {
    clearTimeout(timer);
    timer = 0;
    if (!settings || inFlight.length || !queue.length) return;
    inFlight = takeBatch(queue);
    const { bearer } = inFlight[0];
    let wait = 0;
    try {
      // The server corrects the times of a wrong clock by the time of sending.
      const answer = await post("/events", { sent_at: now(), events: eventsOf(inFlight) }, bearer);
      if (isTemporary(answer.status)) wait = Number(answer.headers.get("Retry-After")) * 1000 || 1;
      else if (answer.status === 403 && bearer && settings.getUserToken && failures < 3) {
        if (bearer === token && (await renew(bearer))) wait = 1;
        else fail(await reason(answer));
      } else if (answer.status === 409) queue.unshift(...(await withoutTaken(answer)));
      else if (!answer.ok) fail(await reason(answer));
    } catch {
      wait = 1;
    }
    if (wait) {
      queue.unshift(...inFlight);
      failures += 1;
      const backoff = Math.min(MAX_WAIT, 1000 * 2 ** Math.min(failures, 6));
      schedule(Math.max(wait, backoff * (0.5 + Math.random() / 2)));
    } else {
      failures = 0;
      if (queue.length) schedule(0);
    }
    inFlight = [];
  }

  /* Of a batch that is refused because of ids of other events, the others are sent again. */
  async function withoutTaken(answer) {
    const { fields = [], reason: why } = await answer.json();
    fail(`409 ${why}`);
    const taken = new Set(fields.map(({ field }) => field));
    return taken.size ? inFlight.filter((_, place) => !taken.has(`events[${place}].id`)) : [];
  }

  function beacon(entries) {
    const { bearer } = entries[0];
    const keys = { api_key: settings.apiKey, ...(bearer && { user_token: bearer }) };
    const body = JSON.stringify({ ...keys, sent_at: now(), events: eventsOf(entries) });
    const blob = new Blob([body], { type: "text/plain" });
    if (blob.size <= MAX_BEACON || entries.length === 1) {
      return navigator.sendBeacon(`${settings.apiUrl}/events`, blob);
    }
    const half = entries.length >> 1;
    return beacon(entries.slice(0, half)) && beacon(entries.slice(half));
  }

  /* The page may go: what is left is sent without waiting for an answer. What is under way may be
     lost with the page; its ids keep it from being stored twice. */
  function sendBeacons() {
    if (!settings) return;
    const left = [...inFlight, ...queue.splice(0)];
    while (left.length) {
      const part = takeBatch(left);
      if (!beacon(part)) queue.push(...part);
    }
  }

  async function reason(answer) {
    const refusal = await answer.json().catch(() => ({}));
    return `${answer.status} ${refusal.field || ""} ${refusal.reason || refusal.error || ""}`;
  }

  function fail(text) {
    const error = new Error(`HaloAgents: ${text}`);
    if (settings.onError) settings.onError(error);
    else console.warn(error.message);
  }

  function page(metadata) {
    lastPage = location.href;
    record({ event_type: "page_view", metadata: plain(metadata) });
  }

  function track(type, metadata) {
    if (typeof type !== "string" || !type) throw new TypeError("HaloAgents.track needs a name.");
    record({ event_type: type.slice(0, 100), metadata: plain(metadata) });
  }

  const plain = (metadata) => (metadata && typeof metadata === "object" ? metadata : {});

  /* identify({ userId, userToken, companyId, traits, context }): whom the next events are of. */
  async function identify(who = {}) {
    if (!settings) throw new Error("Call HaloAgents.init first.");
    if (queue.length) flush();
    // Without a token, another person has none.
    const isOther = userId && who.userId && who.userId !== userId;
    token = who.userToken || (isOther ? "" : token);
    userId = who.userId || (who.userToken ? "" : userId);
    // What was recorded in this session before becomes the customer's.
    const body = { session_id: session() };
    if (userId) body.user_id = userId;
    if (who.companyId) body.company_id = who.companyId;
    if (who.traits) body.traits = who.traits;
    if (who.context) body.context = who.context;
    const answer = await post("/identify", body, token).catch(() => null);
    if (answer && answer.ok) return answer.json();
    fail(answer ? await reason(answer) : "identify did not reach the server");
    return null;
  }

  /* After signing out: the next events are those of a visitor, in a session of its own. */
  function reset() {
    if (queue.length) flush();
    token = userId = session.kept = "";
    try {
      sessionStorage.removeItem(SESSION);
    } catch {
      // The session is kept in memory.
    }
  }

  function listen() {
    document.addEventListener(
      "click",
      (event) => {
        const found = event.target instanceof Element && event.target.closest(CLICKABLE);
        if (found) record({ event_type: "click", element_selector: selector(found) });
      },
      true,
    );
    document.addEventListener(
      "submit",
      (event) => record({ event_type: "form_submit", element_selector: selector(event.target) }),
      true,
    );
    const moved = () => location.href !== lastPage && page();
    for (const name of ["pushState", "replaceState"]) {
      const original = history[name];
      history[name] = function (...given) {
        original.apply(this, given);
        moved();
      };
    }
    addEventListener("popstate", moved);
    addEventListener("pagehide", sendBeacons);
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "hidden") sendBeacons();
    });
  }

  async function init(given) {
    if (settings) return;
    if (!given || !given.orgId || !given.apiKey) throw new Error("HaloAgents.init needs keys.");
    const origin = script ? new URL(script.src).origin : location.origin;
    settings = { apiUrl: `${origin}/api/sdk`, ...given };
    userId = given.userId || "";
    token = given.userToken || "";
    listen();
    try {
      if (!token && given.getUserToken) token = (await given.getUserToken()) || "";
    } finally {
      // The first view of a page is that of the person who is signed in.
      if (location.href !== lastPage) page();
    }
    if (userId || token) {
      await identify({
        userId: given.userId,
        userToken: token,
        companyId: given.companyId,
        traits: given.userTraits,
        context: given.context,
      });
    }
    if (given.onReady) given.onReady();
  }

  // For pages whose policy permits no inline script: the keys are attributes of the script.
  if (script && script.dataset.orgId) {
    init({ orgId: script.dataset.orgId, apiKey: script.dataset.apiKey });
  }

  return { init, identify, track, page, reset };
});
