// Elements are made here and nowhere else, from values only: no word of a person or a model is ever parsed as HTML.

export function el(name, properties = {}, ...children) {
  const [tag, ...classes] = name.split(".");
  const node = document.createElement(tag);
  node.className = classes.join(" ");
  for (const [key, value] of Object.entries(properties)) {
    if (typeof value === "function") node.addEventListener(key.slice(2), value);
    else if (key in node) node[key] = value;
    else node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child || child === 0));
  return node;
}

// A link people can follow safely, or its words alone: only these schemes leave the page.
export function link(address, ...children) {
  const whole = /^[a-z][a-z\d+.-]*:/i.test(address) ? address : `https://${address}`;
  const safe = URL.canParse(whole) && ["http:", "https:", "tg:"].includes(new URL(whole).protocol);
  return el(safe ? "a" : "span", safe ? { href: whole, target: "_blank", rel: "noopener noreferrer" } : {}, ...children);
}

export const find = (selector, root = document) => root.querySelector(selector);
export const findAll = (selector, root = document) => [...root.querySelectorAll(selector)];
