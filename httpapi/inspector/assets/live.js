// Shows what changes on the server while the page is open. The page does
// everything else without it.
(() => {
  const live = document.getElementById("live");
  const state = document.querySelector("#live-state span");
  if (!live || !window.EventSource) return;
  const token = document.querySelector("input[name=token]")?.value ?? "";
  let source, waiting;

  // What somebody is using must not move away under them.
  const busy = () => live.contains(document.activeElement) || !document.getSelection().isCollapsed;

  const apply = () => {
    if (!waiting) return;
    if (busy()) {
      setTimeout(apply, 500);
      return;
    }
    const open = [...live.querySelectorAll("details[open]")].map((d) => d.id);
    live.innerHTML = waiting.html;
    live.dataset.version = waiting.version;
    waiting = undefined;
    for (const id of open) document.getElementById(id)?.setAttribute("open", "");
    for (const input of live.querySelectorAll("input[name=token]")) input.value = token;
  };

  const follow = () => {
    source?.close();
    if (document.hidden) return; // a browser has few connections to one server
    source = new EventSource(location.href);
    source.onopen = () => { state.textContent = "This page follows what happens."; };
    source.onerror = () => { state.textContent = "The connection is lost. Reload the page to see what is new."; };
    source.onmessage = (e) => {
      const idle = !waiting;
      waiting = e.lastEventId === live.dataset.version ? undefined : { html: e.data, version: e.lastEventId };
      if (idle) apply();
    };
  };
  document.addEventListener("visibilitychange", follow);
  follow();
})();
