// Every word of the page, English and Russian side by side, and how times are written.

import { findAll } from "./dom.js";

export const WORDS = {
  title: ["A Session, watched", "Сессия на виду"], who: ["Who you are", "Кто вы"], both: ["Side by side", "Рядом"],
  add_person: ["Add a person", "Добавить человека"], person_name: ["Name of the new person", "Имя нового человека"],
  view: ["What is shown", "Что показано"], chat: ["Chat", "Чат"], chats: ["Chats", "Чаты"],
  inspector: ["Inspector", "Инспектор"], chat_of: ["{name}’s Telegram", "Telegram: {name}"], bot: ["bot", "бот"],
  members: ["{count} members and the bot", "Участников: {count}, и бот"], typing: ["typing", "печатает"],
  messages_of: ["Messages. Arrow keys choose one, Enter replies", "Сообщения. Стрелки выбирают, Enter — ответить"],
  empty: ["Nothing here yet. Say hello.", "Здесь пока пусто. Поздоровайтесь."],
  write: ["Message", "Сообщение"],
  write_group: ["Message (the bot hears @{bot})", "Сообщение (бот слышит @{bot})"], send: ["Send", "Отправить"],
  attach: ["Attach a photo or a file", "Прикрепить фото или файл"], commands: ["Commands", "Команды"],
  buttons: ["Buttons", "Кнопки"], replying: ["Reply to {name}", "Ответ: {name}"], editing: ["Editing", "Правка"],
  cancel: ["Cancel", "Отменить"], edited: ["edited", "изменено"], photo: ["Photo", "Фото"], file: ["File", "Файл"],
  stop: ["Stop", "Стоп"], spoiler: ["Hidden text, press to show", "Скрытый текст, нажмите, чтобы показать"],
  away: ["The demo does not answer. Trying again…", "Демо не отвечает. Пробую ещё…"],
  back: ["Connected again.", "Связь восстановлена."], failed: ["That did not work: {why}", "Не получилось: {why}"],
  inspector_of: ["What the bot keeps of {name}", "Что бот хранит: {name}"],
  no_session: ["No Session here yet: it begins with a message.", "Сессии пока нет: она начнётся с сообщения."],
  _id: ["_id", "_id"], status: ["status", "статус"], active: ["active", "активна"],
  revision: ["revision", "ревизия"], expires: ["expires in", "истекает через"],
  expired: ["over: the next message starts a new one", "истекла: следующее сообщение начнёт новую"],
  things: ["Make something happen", "Пусть что-нибудь случится"], hour: ["An hour passes", "Проходит час"],
  restart: ["Restart the bot (kill −9)", "Перезапуск бота (kill −9)"],
  summariser: ["Summariser fails", "Пересказ не удаётся"],
  isolation_attempt: ["{intruder} tries {name}’s session id", "{intruder} пробует id сессии ({name})"], session: ["Session", "Сессия"],
  session_note: ["as it lies in MongoDB", "как она лежит в MongoDB"], messages: ["messages", "сообщения"],
  summary: ["summary", "пересказ"], task: ["task", "задача"],
  document: ["the whole document", "документ целиком"], system: ["system", "система"],
  tools: ["tools", "инструменты"], user: ["user", "человек"], assistant: ["assistant", "модель"],
  request: ["Last request to the model", "Последний запрос к модели"],
  request_note: ["all that it knows", "всё, что она знает"],
  no_request: ["The model was not asked yet.", "Модель ещё не спрашивали."], cached: ["cached", "из кэша"],
  repeated: ["repeated", "повтор"],
  spent: ["{tokens} tokens, {cached} from the cache", "токенов: {tokens}, из кэша: {cached}"],
  kept: ["Taken out by compaction: {archived} · earlier Sessions: {earlier} · notes: {notes}",
    "Убрано при сжатии: {archived} · прежних сессий: {earlier} · заметок: {notes}"],
  log: ["What happened", "Что произошло"], log_created: ["Session created", "сессия создана"],
  log_loaded: ["loaded, revision {revision}", "загружена, ревизия {revision}"],
  log_committed: ["turn committed, revision {revision}", "ход записан, ревизия {revision}"],
  log_compacted: ["compacted: {from} messages are now a summary and {to}", "сжата: сообщений было {from}, стало {to} и пересказ"],
  log_expired: ["idle for too long: closed", "истекла и закрыта"], log_closed: ["put aside", "отложена"],
  log_reset: ["erased", "стёрта"], log_refused: ["refused: an id is no key ({way})", "отказ: id не ключ ({way})"],
  log_asked: ["model asked: {prompt} tokens, {cached} cached", "вопрос модели: {prompt} токенов, {cached} из кэша"],
  "log_summariser-failed": ["summary failed, nothing is lost", "пересказ не удался, ничего не потеряно"],
  log_hour: ["the clock moves on, hours: {hours}", "часы идут вперёд, часов: {hours}"],
  log_killed: ["the bot is killed (kill −9)", "бот убит (kill −9)"], log_ready: ["the bot is ready", "бот готов"],
  log_stopped: ["the bot ended by itself", "бот завершился сам"], log_trouble: ["{text}", "{text}"],
  did_hour: ["An hour went by. Write, and a new Session begins.", "Прошёл час. Напишите — начнётся новая сессия."],
  did_restart: ["Killed, and back after {seconds} s. Go on talking.",
    "Убит и снова готов через {seconds} с. Продолжайте."],
  did_fails: ["Summaries fail from now on; the talk goes on.", "Пересказы не удаются; разговор идёт дальше."],
  did_works: ["Summaries work again.", "Пересказы снова удаются."],
  did_intrude: ["Tried in {count} ways, refused each time.", "Попыток: {count}, отказов столько же."],
  did_leak: ["Something leaked: a fault, please report it.", "Что-то утекло: это ошибка, сообщите о ней."],
  tour: ["Tour", "Экскурсия"], step: ["{step} / 5", "{step} / 5"], do_it: ["Do it for me", "Сделать за меня"],
  skip: ["Next", "Дальше"], close: ["Close the tour", "Закрыть экскурсию"], finish: ["Done", "Готово"],
  step1: ["A Session begins with a message. Tell the bot your name and watch the document appear.",
    "Сессия начинается с сообщения. Назовите боту своё имя и смотрите, как появится документ."],
  say1: ["My name is {name}", "Меня зовут {name}"],
  step2: ["The model remembers nothing. Ask it your name: it knows only because the Session is sent along, every time.",
    "Модель ничего не помнит. Спросите своё имя: она знает его лишь потому, что Сессию каждый раз посылают с вопросом."],
  say2: ["What is my name?", "Как меня зовут?"],
  step3: ["The process remembers nothing either. Kill the bot: the Session lies in MongoDB, and the talk goes on.",
    "Процесс тоже ничего не помнит. Убейте бота: Сессия лежит в MongoDB, и разговор продолжится."],
  step4: ["A Session ends. Let an hour pass and write again: the old one is closed, a new id begins.",
    "Сессия кончается. Пусть пройдёт час; напишите снова: старая закрыта, начинается новый id."],
  step5: ["A Session has one owner. Somebody else tries its id: the bot goes by who writes, not by what is written.",
    "У Сессии один владелец. Пусть другой попробует её id: бот смотрит, кто пишет, а не что написано."],
  done: ["That is a Session: an id, an owner, a lifetime and a document, and it is nobody else’s.",
    "Вот и вся Сессия: id, владелец, срок и документ, и она больше ничья."],
};

const LANGUAGES = ["en", "ru"];
const own = navigator.language.slice(0, 2);
export let language = LANGUAGES.includes(own) ? own : "en";

export function t(key, values = {}) {
  return WORDS[key][LANGUAGES.indexOf(language)].replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
}

export function label(node, words) {
  node.ariaLabel = words;
  if (node.matches("button, label")) node.title = words;
}

export function speak(code) {
  document.documentElement.lang = language = code;
  for (const node of findAll("[data-t]")) node.textContent = t(node.dataset.t);
  for (const node of findAll("[data-label]")) label(node, t(node.dataset.label));
}

export const clockTime = (ms) => new Date(ms).toLocaleTimeString(language, { timeStyle: "short", hourCycle: "h23" });
