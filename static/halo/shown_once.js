/* A page that was the response to a form and shows a secret once.

   <div data-shown-once="/address/to/reload">

   Reloading it would send the form again: a second client, or one more rotation. Reload and back
   open the named address instead. */

const shown = document.querySelector("[data-shown-once]");
history.replaceState(null, "", shown.dataset.shownOnce);
