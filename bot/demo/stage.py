"""The demo's page server: the page, and everything the page can ask, on one loopback origin.

GET  /                    bot/demo/page/index.html; every other file of that folder under its own name (/chat.js, /page.css)
ANY  /control/…           the Telegram stand-in's remote control, unchanged (see `telegram.control`): people, chats, SSE
GET  /stage               what is being shown:
       {now, shiftSeconds, running, restartable, model: "stand-in" | its name, summariser: {controllable, fails},
        mongodb: "mongodb://127.0.0.1:4711/?replicaSet=rs0" (never a name or password) | null where there is none,
        database, folder, bot: {id, username, first_name}, people: [{id, name, language, chat}], group: chat id,
        settings: {idleSeconds, maxAgeSeconds, triggerMessages, keepMessages, triggerTokens}}
POST /stage/hour          {hours?: 1}            -> {now, shiftSeconds}; stand-ins and bot share the clock
POST /stage/restart       {}                     -> {running: true, seconds}; kill −9 and a new start; answers when it is ready
POST /stage/summariser    {fails: true | false}  -> {fails}; 409 where the real model is used
POST /stage/steal         {thief?: Boris, victim?: Anna} -> {session, tries: [{way, sent, got: [text]}], leaked: false};
                          ways: link, command, words, press; 409 while the victim has no Session
GET  /glass/session?person=ID&chat=ID[&thread=ID]
       -> {session: the active Session of THAT person there as it lies in MongoDB (dates ISO 8601, …Z) | null,
           expiresInSeconds: number (below 0: over, decided at the next message) | null, archived: messages taken out,
           earlier: closed Sessions kept of this person here, notes: [{text, at}], bytes: size of the document}
GET  /glass/request?person=ID&chat=ID[&thread=ID]
       -> {request: {at, model, state, parts: [{section: "tools" | "system" | "summary" | "messages", role, content: [blocks],
           marked, repeated}], usage: {input_tokens, cache_read_input_tokens, cache_creation_input_tokens, output_tokens}
           | {}, body: the whole request} | null}
       the last chat request made for that person there, null where the real model is used (it is asked directly).
       `repeated`: from the front up to here nothing changed since the request before, so a provider's cache answers
       for it; `marked`: a cache breakpoint ends this part
GET  /glass/log?since=N   -> [happening, …] after number N, oldest first, at most the last 500
GET  /glass/events[?since=N]   the same as server-sent events (`id:` is the number; Last-Event-ID is understood)

A happening: {number, at, what, person, chat, thread, session, …}; the four after `what` are null where they say
nothing. Never a person's word. `what` and its further fields:
  created · loaded {revision} · committed {revision, messages} · compacted {from, to, epoch} (numbers of messages)
  expired {revision} · closed {revision} · reset · asked {messages, cached, prompt} (the model got a request; tokens)
  refused {way: link | command | words | press} · summariser-failed {fails, nextAt}
  hour {hours} · killed · ready {seconds} · stopped (the bot ended by itself) · trouble {text} (a warning of the bot)

Errors are {"error": sentence} with a 4xx status. Every answer carries a Content-Security-Policy without any inline or
foreign source, and with Trusted Types: the page sets `textContent`, never `innerHTML`. Who asks under a foreign Host,
or from a foreign Origin, gets 403.
"""
