
"use strict";
// The side of the view in MCP Apps (SEP-1865, 2026-01-26): JSON-RPC 2.0 with the host.
const PROTOCOL = "2026-01-26";
// Control and invisible characters, and those that change the order in which others are shown.
const MISLEADING = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;
const VARIABLE = /^--(color|font)-[a-z0-9-]+$/;
const view = document.getElementById("view");
const state = { input: {}, result: null, cancelled: null, context: {}, opensLinks: false };
const waiting = new Map();
let lastId = 0;
let render = () => [];

function send(message) {
  // The origin of the host is not known to the view; nothing that is sent is private.
  window.parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
}

function request(method, params) {
  const id = ++lastId;
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve, reject });
    send({ id, method, params });
  });
}

function spellOut(value) {
  const plain = typeof value === "string" ? value : JSON.stringify(value) ?? "";
  return plain.replace(MISLEADING, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined) continue;
    element.append(child instanceof Node ? child : document.createTextNode(spellOut(child)));
  }
  return element;
}

const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
// What others wrote, in its own direction.
const quote = (value) => el("bdi", { class: "value" }, value);
function intl(make) {
  try {
    return make(state.context.locale);
  } catch {
    return make("en");
  }
}

const formatNumber = (value) => intl((locale) => new Intl.NumberFormat(locale).format(value));

function resultText(result) {
  const blocks = Array.isArray(result?.content) ? result.content : [];
  return blocks.filter((one) => typeof one?.text === "string").map((one) => one.text).join("\n\n");
}

function structuredResult(result) {
  if (result?.structuredContent && typeof result.structuredContent === "object") return result.structuredContent;
  try {
    return Object(JSON.parse(resultText(result)));
  } catch {
    return {};
  }
}

function makeNodes() {
  if (state.cancelled !== null) return [el("p", {}, "The call was cancelled. ", quote(state.cancelled))];
  if (state.result === null) return [el("p", { class: "quiet" }, "Waiting for the result.")];
  return render(state.result, structuredResult(state.result));
}

function showFailure() {
  view.replaceChildren(el("p", {}, "This result cannot be shown here. Its text is part of the conversation."));
}

function show() {
  view.setAttribute("aria-busy", String(state.result === null && state.cancelled === null));
  try {
    view.replaceChildren(...makeNodes().filter(Boolean));
  } catch {
    showFailure();
  }
}

function applyContext(given) {
  Object.assign(state.context, given);
  const root = document.documentElement;
  const { theme, styles, safeAreaInsets } = state.context;
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  const variables = styles?.variables ?? {};
  // Some colors without the others could be unreadable.
  const isWhole = ["--color-background-primary", "--color-text-primary"].every((name) => variables[name]);
  for (const [name, value] of Object.entries(variables)) {
    const isUsed = VARIABLE.test(name) && typeof value === "string" && (isWhole || name.startsWith("--font-"));
    if (isUsed) root.style.setProperty(name, value);
  }
  for (const side of ["top", "right", "bottom", "left"]) {
    const inset = safeAreaInsets?.[side];
    if (Number.isFinite(inset)) root.style.setProperty(`padding-${side}`, `${inset}px`);
  }
}

const NOTIFICATIONS = {
  "ui/notifications/tool-input": ({ arguments: given }) => (state.input = given ?? {}),
  "ui/notifications/tool-result": (result) => (state.result = result),
  "ui/notifications/tool-cancelled": ({ reason }) => (state.cancelled = reason ?? ""),
  "ui/notifications/host-context-changed": applyContext,
};

window.addEventListener("message", ({ source, data }) => {
  if (source !== window.parent || data?.jsonrpc !== "2.0") return;
  if (typeof data.method !== "string") {
    const answer = waiting.get(data.id);
    waiting.delete(data.id);
    if (answer) data.error ? answer.reject(data.error) : answer.resolve(data.result);
  } else if (data.id !== undefined) {
    const isKnown = data.method === "ping" || data.method === "ui/resource-teardown";
    send({ id: data.id, ...(isKnown ? { result: {} } : { error: { code: -32601, message: "Method not found" } }) });
  } else if (Object.hasOwn(NOTIFICATIONS, data.method)) {
    NOTIFICATIONS[data.method](data.params ?? {});
    show();
  }
});

async function start(name, draw) {
  render = draw;
  try {
    await connect(name);
  } catch {
    showFailure();
  }
}

async function connect(name) {
  const answer = await request("ui/initialize", {
    protocolVersion: PROTOCOL,
    appInfo: { name, version: "1.0.0" },
    appCapabilities: { availableDisplayModes: ["inline", "fullscreen"] },
  });
  state.opensLinks = Boolean(answer?.hostCapabilities?.openLinks);
  applyContext(answer?.hostContext ?? {});
  send({ method: "ui/notifications/initialized", params: {} });
  new ResizeObserver(() => {
    const height = Math.ceil(document.documentElement.getBoundingClientRect().height);
    send({ method: "ui/notifications/size-changed", params: { width: window.innerWidth, height } });
  }).observe(document.documentElement);
}
