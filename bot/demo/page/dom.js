// Elements are made here and nowhere else, from values only: no word of a person or a model is ever parsed as HTML.

export function el(name, properties = {}, ...children) {
  const [tag, ...classes] = name.split(".");
  const node = document.createElement(tag);
  node.className = classes.join(" ");
  for (const [key, value] of Object.entries(properties)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key in node && !key.includes("-")) node[key] = value;
    else if (value !== null && value !== false) node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return node;
}

// A link people can follow safely, or nothing: only these schemes leave the page.
export function link(address, ...children) {
  const bare = /^[a-z][a-z\d+.-]*:/i.test(address) ? address : `https://${address}`;
  const url = URL.canParse(bare) ? new URL(bare) : null;
  if (!url || !["http:", "https:", "tg:"].includes(url.protocol)) return el("span", {}, ...children);
  return el("a", { href: url.href, target: "_blank", rel: "noopener noreferrer" }, ...children);
}

export const find = (selector, root = document) => root.querySelector(selector);
export const findAll = (selector, root = document) => [...root.querySelectorAll(selector)];
