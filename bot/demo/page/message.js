// One message as a bubble: words with their entities, pictures, files, inline buttons.

import { el, link } from "./dom.js";
import { clockTime, t } from "./texts.js";

const TAGS = { bold: "strong", italic: "em", underline: "u", strikethrough: "s", code: "code" };

const BLOCKS = ["pre", "blockquote", "expandable_blockquote"];

function reveal(event) {
  if (event.type === "keydown" && ![" ", "Enter"].includes(event.key)) return;
  if (event.currentTarget.classList.contains("open")) return;
  event.stopPropagation();
  event.preventDefault();
  event.currentTarget.classList.add("open");
  event.currentTarget.removeAttribute("role");
  event.currentTarget.removeAttribute("aria-label");
}

const WRAP = {
  spoiler: (kind, text, inner) =>
    el("span.spoiler", { role: "button", tabIndex: 0, "aria-label": t("spoiler"), onclick: reveal, onkeydown: reveal }, ...inner),
  pre: (kind, text, inner) =>
    el("pre", { tabIndex: 0 }, kind.language ? el("span.language", {}, kind.language) : "", el("code", {}, ...inner)),
  blockquote: (kind, text, inner) => el("blockquote", {}, ...inner),
  expandable_blockquote: (kind, text, inner) => el("blockquote", {}, ...inner),
  text_link: (kind, text, inner) => link(kind.url, ...inner),
  url: (kind, text, inner) => link(text, ...inner),
  email: (kind, text, inner) => el("span", {}, ...inner),
  mention: (kind, text, inner) => el("span.mention", {}, ...inner),
  text_mention: (kind, text, inner) => el("span.mention", {}, ...inner),
  hashtag: (kind, text, inner) => el("span.mention", {}, ...inner),
  bot_command: (kind, text, inner) => el("button.command", { type: "button", value: text }, ...inner),
};

// Offsets count UTF-16 units, as strings do here. Entities nest and never cross: the outer one comes first.
export function worded(text, entities = [], from = 0, to = text.length) {
  const parts = [];
  const sorted = [...entities].sort((a, b) => a.offset - b.offset || b.length - a.length);
  let at = from;
  while (sorted.length) {
    const kind = sorted.shift();
    const end = Math.min(kind.offset + kind.length, to);
    if (kind.offset < from || kind.offset >= to) continue;
    const inside = sorted.filter((other) => other.offset < end);
    parts.push(text.slice(at, kind.offset));
    const inner = worded(text, inside, kind.offset, end);
    const wrap = WRAP[kind.type] ?? ((_, words, nodes) => el(TAGS[kind.type] ?? "span", {}, ...nodes));
    parts.push(wrap(kind, text.slice(kind.offset, end), inner));
    sorted.splice(0, inside.length);
    at = BLOCKS.includes(kind.type) && text[end] === "\n" ? end + 1 : end;
  }
  return [...parts, text.slice(Math.min(at, to), to)];
}

const fileAt = (stored) => `/control/file?id=${encodeURIComponent(stored.file_id)}`;

function media(message) {
  if (message.photo) {
    return el("img.photo", { src: fileAt(message.photo.at(-1)), alt: message.caption ?? t("photo"), loading: "lazy" });
  }
  const file = message.document ?? message.voice ?? message.audio ?? message.video;
  if (!file) return null;
  const size = file.file_size < 1024 ? `${file.file_size} B` : `${(file.file_size / 1024).toFixed(1)} KB`;
  const name = file.file_name ?? t("file");
  return el("a.file", { href: fileAt(file), download: name }, el("b", {}, name), el("small", {}, size));
}

function button(message, known) {
  if (known.url) return link(known.url, known.text, " ↗");
  if (known.copy_text) {
    return el("button", { type: "button", onclick: () => navigator.clipboard.writeText(known.copy_text.text) }, known.text);
  }
  return el("button.press", { type: "button", value: known.callback_data ?? "", name: message.message_id }, known.text);
}

function keyboard(message) {
  const rows = message.reply_markup?.inline_keyboard;
  if (!rows) return null;
  const made = rows.map((row) => el("div.row", {}, ...row.map((known) => button(message, known))));
  return el("div.keyboard", { role: "group", "aria-label": t("buttons") }, ...made);
}

export const textOf = (message) => message.text ?? message.caption ?? "";

function quote(message) {
  const to = message.reply_to_message;
  return to ? el("div.quote", {}, el("b", {}, to.from?.first_name ?? ""), el("span", {}, textOf(to).slice(0, 120))) : null;
}

export function bubble(message, { mine, named }) {
  const author = message.from?.first_name ?? "";
  const entities = message.entities ?? message.caption_entities;
  const time = clockTime(message.date * 1000);
  const edited = message.edit_date && mine ? `${t("edited")} ` : "";
  const tone = Math.abs(message.from?.id ?? 0) % 5;
  return el(
    `article.message.${mine ? "mine" : "theirs"}`,
    { tabIndex: -1, "data-id": message.message_id, "aria-label": `${author}, ${time}` },
    el(
      "div.bubble",
      {},
      named && !mine ? el(`b.author.tone${tone}`, {}, author) : null,
      quote(message),
      media(message),
      el("div.words", {}, ...worded(textOf(message), entities)),
      el("small.time", {}, edited, time),
    ),
    keyboard(message),
  );
}
