"""The Bot API over HTTP: checks tokens, calls methods, serves faults and downloads."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field

from aiohttp import web

from bot.standins.telegram.faults import PAGE, Fault, FaultSchedule, RateModel
from bot.standins.telegram.journal import Call, Journal
from bot.standins.telegram.methods import CANONICAL, COUNTED, METHODS
from bot.standins.telegram.params import Params, read_params
from bot.standins.telegram.rules import Json, Refused
from bot.standins.telegram.state import TelegramState

NOT_FOUND = Refused(404, "Not Found")
UNAUTHORIZED = Refused(401, "Unauthorized")


@dataclass(slots=True)
class HttpApi:
    """Answers calls."""

    state: TelegramState
    token: str
    journal: Journal = field(default_factory=Journal)
    faults: FaultSchedule = field(default_factory=FaultSchedule)
    rate: RateModel | None = None

    def routes(self) -> list[web.RouteDef]:
        """Where a bot calls."""
        return [
            web.route("*", "/bot{token}/{method}", self.answer),
            web.get("/file/bot{token}/{path:.+}", self.download),
        ]

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """One call of one method."""
        method = CANONICAL.get(request.match_info["method"].lower())
        if (
            refusal := self._check_token(request.match_info["token"])
        ) is not None or method is None:
            return _refused(refusal or NOT_FOUND)
        params = await read_params(request)
        call = self.journal.begin(method, params.values, self.state.now)
        response = await self._faulty(call, params, self.faults.take(method, call.chat_id))
        self.state.signal.ring()
        if response is None and request.transport is not None:
            request.transport.abort()
        return response or web.Response()

    async def download(self, request: web.Request) -> web.Response:
        """A file, by the path getFile gave. Its faults are those of "download"."""
        found = (
            stored
            for stored in self.state.files.values()
            if stored.path == request.match_info["path"]
        )
        stored = next(found, None)
        if request.match_info["token"] != self.token or stored is None:
            return _refused(NOT_FOUND)
        if fault := self.faults.take("download", None):
            await fault.wait()
        if fault and fault.drop and request.transport is not None:
            request.transport.abort()
        return web.Response(
            body=stored.content,
            content_type="application/octet-stream",
            status=(fault and fault.page) or 200,
        )

    def _check_token(self, token: str) -> Refused | None:
        """Telegram calls a malformed token not found, a wrong one unauthorized."""
        if not re.fullmatch(r"\d+:[\w-]+", token):
            return NOT_FOUND
        return None if token == self.token else UNAUTHORIZED

    async def _faulty(self, call: Call, params: Params, fault: Fault | None) -> web.Response | None:
        """The answer, after what goes wrong on the way; None: the connection breaks."""
        if fault is None:
            return await self._perform(call, params)
        response = await self._perform(call, params) if fault.when == "after" else None
        await fault.wait()
        if fault.drop:
            return None
        if fault.page:
            return self._page(call, fault)
        if fault.refusal is not None:
            return self._refuse(call, fault.refusal)
        return response or await self._perform(call, params)

    async def _perform(self, call: Call, params: Params) -> web.Response:
        try:
            if (
                self.rate is not None
                and call.chat_id is not None
                and call.method.startswith(COUNTED)
            ):
                self.rate.check(call.chat_id, self.state.now)
            result = METHODS[call.method](self.state, params)
            if inspect.isawaitable(result):
                result = await result
        except Refused as refusal:
            return self._refuse(call, refusal)
        self.journal.end(call, 200, result)
        return web.json_response({"ok": True, "result": result})

    def _refuse(self, call: Call, refusal: Refused) -> web.Response:
        self.journal.end(call, refusal.code, error=refusal.description)
        return _refused(refusal)

    def _page(self, call: Call, fault: Fault) -> web.Response:
        self.journal.end(call, fault.page, error="HTML page")
        return web.Response(
            status=fault.page, text=fault.body or PAGE.format(fault.page), content_type="text/html"
        )


def _refused(refusal: Refused) -> web.Response:
    body: Json = {"ok": False, "error_code": refusal.code, "description": refusal.description}
    if refusal.parameters:
        body["parameters"] = refusal.parameters
    return web.json_response(body, status=refusal.code)
