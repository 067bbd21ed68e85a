// The page: who is looking, the chats beside the glass box, and the buttons that make things happen.

import { ask } from "./api.js";
import { Pane } from "./chat.js";
import { el, find, findAll } from "./dom.js";
import { Glass } from "./glass.js";
import { language, speak, t } from "./texts.js";
import { Tour } from "./tour.js";

const WIDE = matchMedia("(min-width: 1200px)");
const status = find(".toast");
let stage, people, selected, panes = [], both = false, wasAway = false;

function report(words) {
  clearTimeout(report.timer);
  status.textContent = words;
  status.hidden = false;
  report.timer = setTimeout(() => (status.hidden = true), 8000);
}

async function away(connected) {
  if (!connected) {
    clearTimeout(report.timer);
    Object.assign(status, { textContent: t("away"), hidden: false });
    wasAway = true;
  } else if (wasAway) {
    wasAway = false;
    report(t("back"));
    await meet();
    arrange();
  }
}

const glass = new Glass(find(".glass"), { people: () => people ?? [], away, moved: (state) => tour?.moved(state) });
const tour = new Tour(find(".tour"), {
  write: (text) => current().write(text),
  show: (node) => (view("glass"), perform(node)),
});

// ---------------------------------------------------------------------------------------------- people and panes

async function meet() {
  stage = await ask("/stage");
  const chats = await ask("/control/chats");
  people = chats.filter(({ id }) => id > 0).map(({ id, first_name }) => ({ id, name: first_name, chat: id }));
  stage.groupTitle = chats.find(({ id }) => id === stage.group)?.title ?? "";
  stage.people = people;
  glass.idleSeconds = stage.settings.idleSeconds;
  selected = people.find(({ id }) => id === selected?.id) ?? people[0];
}

const current = () => panes.find(({ person }) => person.id === selected.id);

function arrange() {
  const isBoth = both && WIDE.matches;
  const wanted = isBoth ? people.filter((person) => [selected, other(selected)].includes(person)) : [selected];
  const chats = new Map(panes.map((pane) => [pane.person.id, pane.chat]));
  for (const pane of panes) pane.close();
  panes = wanted.map((person) => new Pane(person, stage, { report, away, chosen: () => select(person), opened: () => select(person) }));
  find(".panes").replaceChildren(...panes.map(({ node }) => node));
  for (const pane of panes) if (chats.get(pane.person.id) === stage.group) pane.open(stage.group);
  select(selected);
  say();
}

const other = (person) => people.find(({ id }) => id !== person.id) ?? person;

function select(person) {
  const pane = panes.find((known) => known.person === person);
  if (!pane) return;
  const changed = selected !== person || glass.person !== person || glass.chat !== pane.chat;
  selected = person;
  if (!changed) return;
  for (const known of panes) known.node.classList.toggle("chosen", panes.length > 1 && known === pane);
  glass.look(person, pane.chat);
  name();
}

// What carries the name of who is selected.
function name() {
  const buttons = people.map((person) =>
    el(`button.tone${person.id % 5}`, { "aria-pressed": String(person === selected), onclick: () => choose(person) }, person.name),
  );
  const pair = el("button.pair", { "aria-pressed": String(both), onclick: () => ((both = !both), arrange()) }, t("both"));
  const focused = document.activeElement?.closest(".people") && [...find(".people").children].indexOf(document.activeElement);
  find(".people").replaceChildren(...buttons, pair);
  if (Number.isInteger(focused)) find(".people").children[focused]?.focus();
  find("#steal span").textContent = t("theft", { thief: other(selected).name, name: selected.name });
}

function choose(person) {
  if (panes.some((pane) => pane.person === person)) return select(person);
  selected = person;
  arrange();
}

function say() {
  speak(find("html").lang);
  for (const button of findAll(".languages button")) button.ariaPressed = String(button.value === language);
  for (const pane of panes) pane.say();
  glass.say();
  tour.say();
  name();
}

// ---------------------------------------------------------------------------------------------------- the buttons

const DEEDS = {
  hour: async () => (await ask("/stage/hour", {}), t("did_hour")),
  restart: async () => t("did_restart", await ask("/stage/restart", {})),
  summariser: async (button) => {
    const { fails } = await ask("/stage/summariser", { fails: button.ariaPressed !== "true" });
    button.ariaPressed = String(fails);
    return t(fails ? "did_fails" : "did_mended");
  },
  steal: async () => {
    const { tries, leaked } = await ask("/stage/steal", { thief: other(selected).id, victim: selected.id });
    return leaked ? t("did_leak") : t("did_steal", { count: tries.length, name: selected.name });
  },
};

async function perform(button) {
  const said = find(".things .said");
  button.ariaBusy = "true";
  button.disabled = true;
  try {
    said.textContent = await DEEDS[button.id](button);
  } catch (problem) {
    said.textContent = t("failed", { why: problem.message });
  }
  button.disabled = false;
  button.ariaBusy = "false";
  glass.refresh();
}

function view(shown) {
  document.body.dataset.view = shown;
  for (const button of findAll(".views button")) button.ariaPressed = String(button.value === shown);
}

async function add(event) {
  event.preventDefault();
  const field = find(".add input");
  if (field.hidden || !field.value.trim()) return void ((field.hidden = !field.hidden), field.hidden || field.focus());
  const id = Math.max(...people.map((person) => person.id)) + 1;
  await ask("/control/person", { user_id: id, first_name: field.value.trim(), language_code: language });
  Object.assign(field, { value: "", hidden: true });
  await meet();
  choose(people.find((person) => person.id === id));
}

function wire() {
  for (const button of findAll(".things button")) button.addEventListener("click", () => perform(button));
  for (const button of findAll(".views button")) button.addEventListener("click", () => view(button.value));
  for (const button of findAll(".languages button")) {
    button.addEventListener("click", () => ((find("html").lang = button.value), speak(button.value), say()));
  }
  find(".add").addEventListener("submit", add);
  find("#tour-open").addEventListener("click", () => tour.begin());
  WIDE.addEventListener("change", arrange);
}

find("html").lang = language;
speak(language);
wire();
view("chat");
await meet();
arrange();
tour.begin();
