// One message as a bubble: words with their entities, pictures, files, inline buttons.

import { el, link } from "./dom.js";
import { clockTime, t } from "./texts.js";

const TAGS = {
  bold: "strong", italic: "em", underline: "u", strikethrough: "s", code: "code", blockquote: "blockquote",
  expandable_blockquote: "blockquote", mention: "span.mention", text_mention: "span.mention", hashtag: "span.mention",
};
const WRAP = {
  spoiler: (kind, text, inner) => {
    const open = () => hidden.replaceWith(el("span.spoiler.open", {}, ...hidden.childNodes));
    const hidden = el("button.spoiler", { type: "button", ariaLabel: t("spoiler"), onclick: open }, ...inner);
    return hidden;
  },
  pre: (kind, text, inner) =>
    el("pre", { tabIndex: 0 }, kind.language && el("span.language", {}, kind.language), el("code", {}, ...inner)),
  text_link: (kind, text, inner) => link(kind.url, ...inner),
  url: (kind, text, inner) => link(text, ...inner),
  bot_command: (kind, text, inner) => el("button.command", { type: "button", value: text }, ...inner),
};

// Offsets count UTF-16 units, as strings do here. Entities nest and never cross: the outer one comes first.
export function worded(text, entities = [], from = 0, to = text.length) {
  const parts = [];
  const left = [...entities].sort((a, b) => a.offset - b.offset || b.length - a.length);
  let at = from;
  while (left.length) {
    const kind = left.shift();
    const end = Math.min(kind.offset + kind.length, to);
    if (kind.offset < from || kind.offset >= to) continue;
    const inside = left.splice(0, left.filter(({ offset }) => offset < end).length);
    const inner = worded(text, inside, kind.offset, end);
    const wrap = WRAP[kind.type] ?? (() => el(TAGS[kind.type] ?? "span", {}, ...inner));
    const node = wrap(kind, text.slice(kind.offset, end), inner);
    parts.push(text.slice(at, kind.offset), node);
    at = node.matches("pre, blockquote") && text[end] === "\n" ? end + 1 : end;
  }
  return [...parts, text.slice(at, Math.max(at, to))];
}

function media({ photo, caption, document: paper, voice, audio, video }) {
  const file = photo?.at(-1) ?? paper ?? voice ?? audio ?? video;
  if (!file) return null;
  const address = `/control/file?id=${encodeURIComponent(file.file_id)}`;
  if (photo) return el("img.photo", { src: address, alt: caption ?? t("photo"), loading: "lazy" });
  const name = file.file_name ?? t("file");
  const size = `${(file.file_size / 1024).toFixed(1)} KB`;
  return el("a.file", { href: address, download: name }, el("b", {}, name), el("small", {}, size));
}

function button({ text, url, copy_text, callback_data }, id) {
  if (url) return link(url, text, " ↗");
  const copy = copy_text && (() => navigator.clipboard.writeText(copy_text.text));
  return el(copy ? "button" : "button.press", { type: "button", value: callback_data ?? "", name: id, onclick: copy }, text);
}

function keyboard({ message_id, reply_markup }) {
  const rows = (reply_markup?.inline_keyboard ?? []).map((row) =>
    el("div.row", {}, ...row.map((known) => button(known, message_id))),
  );
  return rows.length > 0 && el("div.keyboard", { role: "group", ariaLabel: t("buttons") }, ...rows);
}

export const textOf = (message) => message.text ?? message.caption ?? "";

export function bubble(message, { mine, named }) {
  const { reply_to_message: to, from: { first_name: author = "", id = 0 } = {} } = message;
  const time = clockTime(message.date * 1000);
  const known = { tabIndex: -1, "data-id": message.message_id, ariaLabel: `${author}, ${time}` };
  const shown = el("div.bubble", {},
    named && !mine && el(`b.author.tone${id % 5}`, {}, author),
    to && el("div.quote", {}, el("b", {}, to.from?.first_name), el("span", {}, textOf(to).slice(0, 120))),
    media(message),
    el("div.words", {}, ...worded(textOf(message), message.entities ?? message.caption_entities)),
    el("small.time", {}, message.edit_date && mine && `${t("edited")} `, time),
  );
  return el(`article.message.${mine ? "mine" : "theirs"}`, known, shown, keyboard(message));
}
