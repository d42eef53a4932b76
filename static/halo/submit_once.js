/* <form data-submit-once>, or a form with such an element: the first submit disables the buttons,
   so that a double click sends one.

   The server gives a second submit the same answer; this only spares the request. The buttons work
   again when the page comes back from the history, and after a while: an app's own scheme opens the
   app and leaves the page where it is, and a request may fail. */

const RELEASED_AFTER = 10_000;
const FORMS = "form[data-submit-once], form:has([data-submit-once])";

for (const form of document.querySelectorAll(FORMS)) {
  const buttons = [...form.elements].filter((one) => one.type === "submit");
  let timer;
  let isSent = false;

  const release = () => {
    clearTimeout(timer);
    isSent = false;
    for (const button of buttons) button.disabled = false;
  };

  form.addEventListener("submit", (event) => {
    if (isSent) {
      event.preventDefault();
      return;
    }
    isSent = true;
    timer = setTimeout(release, RELEASED_AFTER);
    // Later: a button that is disabled at once would not be in the form that is sent.
    setTimeout(() => {
      for (const button of buttons) button.disabled = isSent;
    });
  });
  window.addEventListener("pageshow", release);
}
