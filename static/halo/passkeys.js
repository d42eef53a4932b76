/* Passkeys: asks the browser to make or use one, and sends what it says as an ordinary form.

   <form data-passkey="create|get" data-options="id"> names the JSON element with the options;
   without data-options they are fetched from the form's own action. The form is hidden until a
   browser turns out to know passkeys; what is marked data-without-passkeys is hidden then. WebAuthn Level 3, sections 5.1.3 and 5.1.4. */

const bytes = (text) =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0));

const text = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

const named = (credentials = []) => credentials.map((one) => ({ ...one, id: bytes(one.id) }));

const ACTS = {
  create: async ({ creation_options: { publicKey } }) =>
    navigator.credentials.create({
      publicKey: {
        ...publicKey,
        challenge: bytes(publicKey.challenge),
        user: { ...publicKey.user, id: bytes(publicKey.user.id) },
        excludeCredentials: named(publicKey.excludeCredentials),
      },
    }),
  get: async ({ request_options: { publicKey } }) =>
    navigator.credentials.get({
      publicKey: {
        ...publicKey,
        challenge: bytes(publicKey.challenge),
        allowCredentials: named(publicKey.allowCredentials),
      },
    }),
};

const PARTS = ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"];

function written({ id, type, rawId, response }) {
  const parts = PARTS.filter((part) => response[part]).map((part) => [part, text(response[part])]);
  return JSON.stringify({ id, type, rawId: text(rawId), response: Object.fromEntries(parts) });
}

async function optionsOf(form) {
  if (form.dataset.options) {
    return JSON.parse(document.getElementById(form.dataset.options).textContent);
  }
  const answer = await fetch(form.action, { headers: { Accept: "application/json" } });
  if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
  return answer.json();
}

/* NotAllowedError covers "cancelled", "timed out" and "none here", which browsers keep apart from
   nobody but the person; InvalidStateError is a passkey that this authenticator holds already. */
function explain(form, error) {
  const words = form.querySelector("[role=alert]");
  const { cancelled, known, failed } = form.dataset;
  words.textContent = { NotAllowedError: cancelled, InvalidStateError: known }[error.name] ?? failed;
  words.hidden = false;
}

async function use(form, button) {
  button.disabled = true;
  try {
    form.elements.credential.value = written(await ACTS[form.dataset.passkey](await optionsOf(form)));
    form.submit();
  } catch (error) {
    explain(form, error);
  } finally {
    button.disabled = false;
  }
}

if (window.PublicKeyCredential) {
  for (const one of document.querySelectorAll("[data-without-passkeys]")) one.hidden = true;
  for (const form of document.querySelectorAll("form[data-passkey]")) {
    form.hidden = false;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      use(form, event.submitter ?? form.querySelector("button"));
    });
  }
}
