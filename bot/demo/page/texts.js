// Every word of the page, English and Russian side by side, and how times and numbers are written.

import { findAll } from "./dom.js";

export const WORDS = {
  title: ["A Session, watched", "Сессия: смотрим внутрь"],
  who: ["Who you are", "Кто вы"],
  both: ["Side by side", "Рядом"],
  add_person: ["Add a person", "Добавить человека"],
  person_name: ["Name of the new person", "Имя нового человека"],
  tour: ["Tour", "Экскурсия"],
  view: ["What is shown", "Что показано"],
  chat: ["Chat", "Чат"],
  chats: ["Chats", "Чаты"],
  glass: ["Glass box", "Стеклянный ящик"],
  chat_of: ["{name}’s Telegram", "Telegram: {name}"],
  bot: ["bot", "бот"],
  members: ["{count} members and the bot", "участников: {count} и бот"],
  typing: ["typing", "печатает"],
  messages_of: ["Messages. Arrow keys choose one, Enter replies", "Сообщения. Стрелки выбирают, Enter — ответить"],
  empty: ["Nothing here yet. Say hello.", "Здесь пока пусто. Поздоровайтесь."],
  newest: ["To the newest message", "К новым сообщениям"],
  write: ["Message", "Сообщение"],
  write_group: ["Message; the bot hears @{bot} and replies to it", "Сообщение; бот слышит @{bot} и ответы ему"],
  send: ["Send", "Отправить"],
  attach: ["Attach a photo or a file", "Прикрепить фото или файл"],
  commands: ["Commands", "Команды"],
  buttons: ["Buttons", "Кнопки"],
  replying: ["Reply to {name}", "Ответ: {name}"],
  editing: ["Editing", "Правка"],
  cancel: ["Cancel", "Отменить"],
  edited: ["edited", "изменено"],
  photo: ["Photo", "Фото"],
  file: ["File", "Файл"],
  spoiler: ["Hidden text, press to show", "Скрытый текст, нажмите, чтобы показать"],
  stop: ["Stop", "Стоп"],
  away: ["The demo does not answer. Trying again…", "Демо не отвечает. Пробую ещё…"],
  back: ["Connected again.", "Связь восстановлена."],
  failed: ["That did not work: {why}", "Не получилось: {why}"],
  glass_of: ["What the bot keeps of {name}", "Что бот хранит: {name}"],
  no_session: ["No Session here yet: it begins with the first message.", "Сессии пока нет: она начнётся с первого сообщения."],
  active: ["active", "активна"],
  closed: ["closed", "закрыта"],
  revision: ["revision", "ревизия"],
  expires: ["expires in", "истекает через"],
  expired: ["is over; the next message starts a new one", "вышла; следующее сообщение начнёт новую"],
  hour: ["An hour passes", "Проходит час"],
  restart: ["Restart the bot (kill −9)", "Перезапустить бота (kill −9)"],
  summariser: ["Summariser fails", "Сбой пересказа"],
  theft: ["{thief} tries {name}’s session id", "{thief} пробует id сессии: {name}"],
  things: ["Make something happen", "Пусть что-то случится"],
  session: ["Session", "Сессия"],
  session_note: ["as it lies in MongoDB", "как лежит в MongoDB"],
  messages: ["messages", "сообщения"],
  summary: ["summary", "пересказ"],
  task: ["task", "задача"],
  none: ["none", "нет"],
  document: ["the whole document", "весь документ"],
  request: ["Last request to the model", "Последний запрос к модели"],
  request_note: ["all the model knows", "всё, что знает модель"],
  no_request: ["The model was not asked yet.", "Модель ещё не спрашивали."],
  cached: ["cached", "из кэша"],
  system: ["system", "система"],
  tools: ["tools", "инструменты"],
  log: ["What happened", "Что произошло"],
  tokens: ["tokens", "токенов"],
  kept: [
    "Taken out by compaction: {archived}. Earlier Sessions: {earlier}. Notes: {notes}.",
    "Убрано при сжатии: {archived}. Прежних сессий: {earlier}. Заметок: {notes}.",
  ],
  log_created: ["a Session is created", "сессия создана"],
  log_loaded: ["loaded at revision {revision}", "загружена, ревизия {revision}"],
  log_committed: ["turn committed, revision {revision}", "ход записан, ревизия {revision}"],
  log_compacted: ["compacted: messages {from}–{to} became a summary", "сжата: сообщения {from}–{to} стали пересказом"],
  log_expired: ["too long idle: closed", "истекла: закрыта"],
  log_closed: ["put aside", "отложена"],
  log_reset: ["erased", "стёрта"],
  log_asked: ["model asked: {prompt} tokens, {cached} cached", "вопрос модели: {prompt} токенов, из кэша {cached}"],
  log_refused: ["refused: a foreign Session’s id ({way})", "отказ: id чужой сессии ({way})"],
  "log_summariser-failed": ["the summariser failed; nothing is lost", "пересказ не удался; ничего не потеряно"],
  log_hour: ["the clock moves on, hours: {hours}", "часы идут вперёд, часов: {hours}"],
  log_killed: ["the bot is killed (kill −9)", "бот убит (kill −9)"],
  log_ready: ["the bot is ready again", "бот снова готов"],
  log_stopped: ["the bot ended by itself", "бот завершился сам"],
  log_trouble: ["{text}", "{text}"],
  did_hour: ["An hour went by. Write again: a new Session begins.", "Прошёл час. Напишите: начнётся новая сессия."],
  did_restart: ["Killed and started again in {seconds} s. Go on talking.", "Убит и запущен за {seconds} с. Продолжайте."],
  did_fails: ["Summaries fail now; the talk goes on.", "Пересказ теперь не удаётся; разговор идёт дальше."],
  did_mended: ["Summaries work again.", "Пересказ снова работает."],
  did_steal: [
    "{count} of {count} ways refused. {name}’s words stayed with {name}.",
    "Отказано: {count} из {count}. Слова ({name}) никому не видны.",
  ],
  did_leak: ["Something leaked. This is a fault: please report it.", "Что-то утекло. Это ошибка: сообщите о ней."],
  step: ["{step} / 5", "{step} / 5"],
  do_it: ["Do it for me", "Сделать за меня"],
  skip: ["Next", "Дальше"],
  close: ["Close the tour", "Закрыть экскурсию"],
  finish: ["Done", "Готово"],
  step1: [
    "A Session begins with a message. Tell the bot your name and watch its document appear.",
    "Сессия начинается с сообщения. Скажите боту своё имя и смотрите, как появится документ.",
  ],
  say1: ["My name is Anna", "Меня зовут Анна"],
  step2: [
    "The model remembers nothing. Ask it your name: it answers only because the Session is sent along, every time.",
    "Модель не помнит ничего. Спросите своё имя: она ответит лишь потому, что Сессию посылают каждый раз заново.",
  ],
  say2: ["What is my name?", "Как меня зовут?"],
  step3: [
    "The process keeps nothing either. Kill the bot without warning; its Session lies in MongoDB and the talk goes on.",
    "Процесс тоже ничего не хранит. Убейте бота без предупреждения: Сессия лежит в MongoDB, разговор продолжится.",
  ],
  step4: [
    "A Session ends. Let an hour pass and write again: the old one is closed, a new id starts.",
    "Сессия кончается. Пусть пройдёт час; напишите снова: старая закрыта, начинается новый id.",
  ],
  say4: ["Do you know my name?", "Как меня зовут?"],
  step5: [
    "A Session has one owner. Let Boris try Anna’s id: the bot goes by who is writing, not by what is written.",
    "У Сессии один владелец. Пусть Борис попробует id Анны: бот смотрит, кто пишет, а не что написано.",
  ],
  done: [
    "That is a Session: an id, an owner, a lifetime and a document. It begins, goes on, ends, and is no one else’s.",
    "Вот и вся Сессия: id, владелец, срок и документ. Она начинается, длится, кончается и больше никому не видна.",
  ],
};

const LANGUAGES = ["en", "ru"];
const asked = new URLSearchParams(location.search).get("lang") ?? navigator.language.slice(0, 2);
export let language = LANGUAGES.includes(asked) ? asked : "en";

export function speak(code) {
  language = code;
  document.documentElement.lang = code;
  for (const node of findAll("[data-t]")) node.textContent = t(node.dataset.t);
  for (const node of findAll("[data-label]")) label(node, t(node.dataset.label));
}

export function label(node, words) {
  node.setAttribute("aria-label", words);
  if (node.matches("button, label")) node.title = words;
}

export function t(key, values = {}) {
  const words = WORDS[key]?.[LANGUAGES.indexOf(language)] ?? key;
  return words.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
}

export const clockTime = (ms) => new Date(ms).toLocaleTimeString(language, { hour: "2-digit", minute: "2-digit" });
