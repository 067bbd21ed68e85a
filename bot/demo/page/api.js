// The way to the demo's server: JSON requests, and streams that come back by themselves when it was away.

const RETRY_MS = 1000;

export async function ask(path, told) {
  const options = told && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(told) };
  const response = await fetch(path, options);
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(answer.error ?? `${response.status} ${response.statusText}`);
  return answer;
}

// Calls `told` with each value; `connected(false)` when the server is away. Closed while the page is hidden: a browser
// has six connections for one server, and a forgotten tab must not hold them. Returns what ends it.
export function listen(path, told, connected = () => {}) {
  let source, timer, over = false;
  const close = () => (source?.close(), clearTimeout(timer));
  const open = () => {
    close();
    if (over || document.hidden) return;
    source = new EventSource(path);
    source.onmessage = (event) => (connected(true), told(JSON.parse(event.data)));
    source.onerror = () => (close(), connected(false), (timer = setTimeout(open, RETRY_MS)));
  };
  document.addEventListener("visibilitychange", open);
  open();
  return () => ((over = true), close(), document.removeEventListener("visibilitychange", open));
}
