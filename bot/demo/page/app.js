// The page: who is looking, the chats beside the inspector, and the buttons that make things happen.

import { ask } from "./api.js";
import { Pane } from "./chat.js";
import { el, find, findAll } from "./dom.js";
import { Inspector } from "./inspector.js";
import { language, speak, t } from "./texts.js";
import { Tour } from "./tour.js";

const WIDE = matchMedia("(min-width: 1200px)");
let environment, people = [], panes = [], selected, both = false, isAway = false, fading;

function toast(words, lasting = false) {
  const node = find(".toast");
  Object.assign(node, { textContent: words, hidden: false });
  clearTimeout(fading);
  if (!lasting) fading = setTimeout(() => (node.hidden = true), 6000);
}

async function away(connected) {
  const isBack = isAway && connected;
  isAway = !connected;
  if (isAway || isBack) toast(t(isAway ? "away" : "back"), isAway);
  if (isBack) await meet(), arrange();
}

const inspector = new Inspector(find(".inspector"), { people: () => people, away, moved: (state) => tour.moved(state) });
const tour = new Tour(find(".tour"), {
  write: (key) => (view("inspector"), pane().write(t(key, selected))),
  press: (button) => (view("inspector"), perform(button)),
});

async function meet() {
  const [shown, chats] = await Promise.all([ask("/environment"), ask("/control/chats")]);
  people = chats.filter(({ id }) => id > 0).map(({ id, first_name }) => ({ id, name: first_name, chat: id }));
  environment = { ...shown, people, groupTitle: chats.find(({ id }) => id === shown.group)?.title ?? "" };
  selected = people.find(({ id }) => id === selected?.id) ?? people[0];
  inspector.idleSeconds = environment.settings.idleSeconds;
  const { controllable, fails } = environment.summariser;
  Object.assign(find("#summariser"), { disabled: !controllable, ariaPressed: String(fails) });
}

const pane = (person = selected) => panes.find((known) => known.person === person);
const other = (person) => people.find(({ id }) => id !== person.id) ?? person;

function arrange() {
  const pair = both && WIDE.matches ? [selected, other(selected)] : [selected];
  const inGroup = new Set(panes.filter(({ chat }) => chat < 0).map(({ person }) => person.id));
  for (const known of panes) known.unlisten();
  panes = people.filter((person) => pair.includes(person)).map((person) =>
    new Pane(person, environment, { problem: toast, away, chosen: () => select(person) }));
  find(".panes").replaceChildren(...panes.map(({ node }) => node));
  for (const known of panes) if (inGroup.has(known.person.id)) known.open(environment.group);
  inspector.person = null;
  select(selected);
  say();
}

function select(person) {
  if (!pane(person) || (inspector.person === person && inspector.chat === pane(person).chat)) return;
  selected = person;
  for (const { node } of panes) node.classList.toggle("chosen", panes.length > 1 && node === pane().node);
  inspector.look(person, pane().chat);
  name();
}

function choose(person) {
  if (pane(person)) return select(person);
  selected = person;
  arrange();
}

// What carries the name of who is selected.
function name() {
  const names = people.map((person) =>
    el("button", { ariaPressed: String(person === selected), onclick: () => choose(person) }, person.name),
  );
  const pair = el("button.pair", { ariaPressed: String(both), onclick: () => ((both = !both), arrange()) }, t("both"));
  const focused = [...find(".people").children].indexOf(document.activeElement);
  find(".people").replaceChildren(...names, pair);
  find(".people").children[focused]?.focus();
  find("#intrude span").textContent = t("isolation_attempt", { intruder: other(selected).name, name: selected.name });
}

function say(code = language) {
  speak(code);
  for (const button of findAll(".languages button")) button.ariaPressed = String(button.value === code);
  find(".where").textContent = [environment.mongodb ?? "–", environment.database, environment.model].join(" · ");
  for (const part of [...panes, inspector, tour]) part.say();
  name();
}

async function add(event) {
  event.preventDefault();
  const field = find(".add input");
  const first_name = field.value.trim();
  if (field.hidden || !first_name) return void ((field.hidden = !field.hidden), field.focus());
  const user_id = Math.max(...people.map(({ id }) => id)) + 1;
  await ask("/control/person", { user_id, first_name, language_code: language });
  Object.assign(field, { value: "", hidden: true });
  await meet();
  choose(people.find(({ id }) => id === user_id));
}

const ACTIONS = {
  hour: async () => (await ask("/environment/hour", {}), t("did_hour")),
  restart: async () => t("did_restart", await ask("/environment/restart", {})),
  summariser: async (button) => {
    const { fails } = await ask("/environment/summariser", { fails: button.ariaPressed !== "true" });
    button.ariaPressed = String(fails);
    return t(fails ? "did_fails" : "did_works");
  },
  intrude: async () => {
    const { tries, leaked } = await ask("/environment/intrude", { intruder: other(selected).id, victim: selected.id });
    return t(leaked ? "did_leak" : "did_intrude", { count: tries.length });
  },
};

async function perform(button) {
  const said = find(".things .said");
  button.disabled = true;
  said.textContent = "…";
  try {
    said.textContent = await ACTIONS[button.id](button);
  } catch (problem) {
    said.textContent = t("failed", { why: problem.message });
  }
  button.disabled = false;
  await inspector.refresh();
}

function view(shown) {
  document.body.dataset.view = shown;
  for (const button of findAll(".views button")) button.ariaPressed = String(button.value === shown);
}

const CLICKS = { ".things": perform, ".views": ({ value }) => view(value), ".languages": ({ value }) => say(value) };
for (const [place, act] of Object.entries(CLICKS)) {
  for (const button of findAll(`${place} button`)) button.addEventListener("click", () => act(button));
}
find(".add").addEventListener("submit", add);
WIDE.addEventListener("change", arrange);
view("chat");
await meet();
arrange();
