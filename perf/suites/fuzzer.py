"""Runs cases of the Autobahn test suite against a WebSocket server; and the backend of such runs.

    fuzzer.py backend SOCKETS_PORT HTTP_PORT   echoes WebSocket messages, and answers HTTP requests
    fuzzer.py run URL RESULT PATTERN...        runs the cases whose ids match a pattern, such as 6.*; writes
                                               {id: [behaviour, behaviour at the close, reason]} as JSON

The suite's released package is Python 2, for an Autobahn of 2015. This program loads its cases under Python
3, and has its own client in place of the suite's fuzzing client. The client runs several cases at once, since
most wait. A case that is not OK is repeated alone: a busy machine exceeds the cases' time-outs of a second.
"""

import binascii
import fnmatch
import importlib.abc
import importlib.util
import json
import os
import re
import sys
import types

from autobahn.twisted.websocket import (
    WebSocketClientFactory,
    WebSocketClientProtocol,
    WebSocketServerFactory,
    WebSocketServerProtocol,
)
from autobahn.websocket.compress import PerMessageDeflateOffer, PerMessageDeflateOfferAccept
from autobahn.websocket.protocol import WebSocketProtocol
from autobahn.websocket.utf8validator import Utf8Validator
from twisted.internet import reactor
from twisted.web.resource import Resource
from twisted.web.server import Site

CONCURRENT_CASES = 4
# Longer than all but the time-outs of single cases of 9 and 12, which nothing reaches that works.
CASE_SECONDS = 120
OPEN_SECONDS = 20


# ---------------------------------------------------------------- the cases

class Bytes:
    """Functions of Python 2 that take strings of bytes, for strings that have a character for each byte."""

    @staticmethod
    def of(text):
        return text.encode("latin-1") if isinstance(text, str) else text

    @staticmethod
    def hex(text):
        return binascii.b2a_hex(Bytes.of(text)).decode()


class TextValidator:
    """Validates strings that have a character for each byte."""

    def __init__(self):
        self.validator = Utf8Validator()

    def reset(self):
        self.validator.reset()

    def validate(self, text):
        return self.validator.validate(Bytes.of(text))


class CaseLoader(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads the suite's modules, which import each other by simple names.

    A string literal of Python 2 is a string of bytes. The sources are read as Latin-1, so that a literal has
    a character for each byte; FuzzingClient converts from and to bytes.
    """

    TRANSLATIONS = [
        (r"(?m)^( *)print\b.*$", r"\1pass"),
        (r"(?m)^import binascii$", ""),
        (r"(?m)^from autobahn\.websocket\.utf8validator import Utf8Validator$", ""),
        # The suite itself leaves this case out; it imports what no longer exists.
        (r"(?m)^from case9_9_1 import \*$", ""),
        (r"import copy, os, pkg_resources, hashlib, binascii", "import copy, os, hashlib"),
        (r"\(object, Case, \)", "(Case, )"),
        (r" / self\.p\.autoFragmentSize", " // self.p.autoFragmentSize"),
        # Autobahn's names of these have changed.
        (r"\brequestNoContextTakeover\b", "request_no_context_takeover"),
        (r"\bacceptNoContextTakeover\b", "accept_no_context_takeover"),
        (r"\brequestMaxWindowBits\b", "request_max_window_bits"),
        (r"\bacceptMaxWindowBits\b", "accept_max_window_bits"),
    ]

    def __init__(self):
        suite = importlib.util.find_spec("autobahntestsuite").submodule_search_locations[0]
        self.folder = os.path.join(suite, "case")
        self.names = {
            "xrange": range,
            "unichr": chr,
            "binascii": types.SimpleNamespace(b2a_hex=Bytes.hex, hexlify=Bytes.hex),
            "Utf8Validator": TextValidator,
            "pkg_resources": types.SimpleNamespace(resource_filename=lambda _, file: os.path.join(suite, file)),
        }

    def path(self, name):
        return os.path.join(self.folder, ("__init__" if name == "cases" else name) + ".py")

    def find_spec(self, fullname, path=None, target=None):
        if re.fullmatch(r"cases|case(\d\w*)?", fullname) and os.path.exists(self.path(fullname)):
            return importlib.util.spec_from_loader(fullname, self)
        return None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        path = self.path(module.__name__)
        with open(path, encoding="latin-1") as file:
            source = file.read()
        for pattern, replacement in self.TRANSLATIONS:
            source = re.sub(pattern, replacement, source)
        vars(module).update(self.names)
        exec(compile(source, path, "exec"), vars(module))
        if module.__name__ == "case":
            # The original compares the bytes of pickle, which depend on the identity of equal objects.
            module.Case.compare = lambda self, one, other: one == other


def load_cases(patterns):
    """Returns the cases whose ids match one of the patterns, as (id, class), in the order of the ids."""
    sys.meta_path.insert(0, CaseLoader())
    import cases

    found = []
    for each in cases.Cases:
        case_id = each.__name__[len("Case"):].replace("_", ".")
        if any(fnmatch.fnmatchcase(case_id, pattern) for pattern in patterns):
            found.append((case_id, each))
    return sorted(found, key=lambda case: [int(part) for part in case[0].split(".")])


# ---------------------------------------------------------------- the client

class FuzzingClient(WebSocketClientProtocol):
    """The connection of one case, with the methods and fields that the cases use."""

    def __init__(self, factory, case_class, done):
        super().__init__()
        self.factory = factory
        self.done = done
        self.connectionWasOpen = False
        self.createWirelog = False
        self.txFrameStats = {}
        self.calls = [reactor.callLater(CASE_SECONDS, self.give_up)]
        self.case = case_class(self)
        # The cases with compression hash the messages.
        self.has_binary_messages = hasattr(self.case, "CLIENT_OFFERS")

    def convert(self, payload):
        return payload if self.has_binary_messages else payload.decode("latin-1")

    def give_up(self):
        self.case.result = f"did not end within {CASE_SECONDS} s"
        self.dropConnection(abort=True)

    # What happens, for the case.

    def onOpen(self):
        self.connectionWasOpen = True
        self.case.onOpen()

    def onMessage(self, payload, isBinary):
        self.case.onMessage(self.convert(payload), isBinary)

    def onPong(self, payload):
        self.case.onPong(self.convert(payload))

    def onClose(self, wasClean, code, reason):
        self.case.onClose(wasClean, code, reason)

    def connectionLost(self, reason=None):
        super().connectionLost(reason)
        for call in self.calls:
            if call.active():
                call.cancel()
        self.case.onConnectionLost(self.failedByMe)
        why = []
        if self.case.behavior not in ("OK", "INFORMATIONAL"):
            why.append(f"{self.case.result} Received: {str(self.case.received)[:200]}")
        if self.case.behaviorClose not in ("OK", "INFORMATIONAL"):
            why.append(f"{self.case.resultClose} (code {self.remoteCloseCode})")
        self.done([self.case.behavior, self.case.behaviorClose, "; ".join(why)])

    def logTxFrame(self, frameHeader, payload, repeatLength, chopsize, sync):
        self.txFrameStats[frameHeader.opcode] = self.txFrameStats.get(frameHeader.opcode, 0) + 1

    def logRxFrame(self, frameHeader, payload):
        pass

    # What a case does.

    def sendFrame(self, opcode, payload=b"", **options):
        super().sendFrame(opcode, Bytes.of(payload), **options)

    def sendMessage(self, payload, isBinary=False, **options):
        super().sendMessage(Bytes.of(payload), isBinary, **options)

    def sendMessageFrameData(self, payload, sync=False):
        return super().sendMessageFrameData(Bytes.of(payload), sync)

    def sendCloseFrame(self, code=None, reasonUtf8=None, isReply=False):
        super().sendCloseFrame(code, Bytes.of(reasonUtf8), isReply)

    def enableWirelog(self, enable):
        pass

    def later(self, seconds, action):
        def act():
            if self.state != WebSocketProtocol.STATE_CLOSED:
                action()

        self.calls.append(reactor.callLater(seconds, act))

    def continueLater(self, delay, fun, tag=None):
        self.later(delay, fun)

    def killAfter(self, delay):
        self.later(delay, self._fail_connection)

    def closeAfter(self, delay):
        self.later(delay, self.sendClose)


class FuzzingFactory(WebSocketClientFactory):
    """Makes the connection of one case."""

    noisy = False

    def __init__(self, url, case_class, done):
        super().__init__(url)
        self.case_class = case_class
        self.done = done
        self.logFrames = True
        # A faulty peer is told by a close frame.
        self.setProtocolOptions(failByDrop=False, openHandshakeTimeout=OPEN_SECONDS)

    def buildProtocol(self, addr):
        return FuzzingClient(self, self.case_class, self.done)

    def clientConnectionFailed(self, connector, reason):
        self.done(["FAILED", "FAILED", reason.getErrorMessage()])


class FuzzingRun:
    """Runs cases, some of them at once, and stops the reactor."""

    def __init__(self, url, cases, result):
        self.url = url
        self.cases = dict(cases)
        self.result = result
        self.results = {}
        self.waiting = list(self.cases)
        self.running = 0
        self.is_repeating = False

    def go_on(self):
        while self.waiting and self.running < (1 if self.is_repeating else CONCURRENT_CASES):
            self.start(self.waiting.pop(0))
        if self.running == 0 and not self.waiting:
            bad = [case_id for case_id, outcome in self.results.items() if not is_good(*outcome)]
            if bad and not self.is_repeating:
                self.is_repeating = True
                self.waiting = bad
                self.go_on()
            else:
                with open(self.result, "w", encoding="utf-8") as file:
                    json.dump(self.results, file)
                reactor.stop()

    def start(self, case_id):
        def done(outcome):
            self.results[case_id] = outcome
            self.running -= 1
            reactor.callLater(0, self.go_on)

        self.running += 1
        factory = FuzzingFactory(self.url, self.cases[case_id], done)
        reactor.connectTCP(factory.host, factory.port, factory)


def is_good(behavior, close, _):
    return behavior in ("OK", "INFORMATIONAL", "UNIMPLEMENTED") and close in ("OK", "INFORMATIONAL")


# ---------------------------------------------------------------- the backend

class Echo(WebSocketServerProtocol):
    """Sends each message back."""

    def onMessage(self, payload, isBinary):
        self.sendMessage(payload, isBinary)


class Hello(Resource):
    """Answers each request with a small body."""

    isLeaf = True

    def render(self, request):
        request.content.read()
        return b"" if request.method == b"HEAD" else b"hello"


def start_backend(sockets_port, http_port):
    echo = WebSocketServerFactory()
    echo.protocol = Echo
    # A faulty caller is told by a close frame.
    echo.setProtocolOptions(
        failByDrop=False, openHandshakeTimeout=OPEN_SECONDS, perMessageCompressionAccept=accept_deflate
    )
    reactor.listenTCP(sockets_port, echo, interface="127.0.0.1")
    reactor.listenTCP(http_port, Site(Hello()), interface="127.0.0.1")


def accept_deflate(offers):
    for offer in offers:
        if isinstance(offer, PerMessageDeflateOffer):
            return PerMessageDeflateOfferAccept(offer)
    return None


def main(mode, *arguments):
    if mode == "backend":
        start_backend(int(arguments[0]), int(arguments[1]))
    else:
        url, result, *patterns = arguments
        cases = load_cases(patterns)
        if not cases:
            raise SystemExit(f"{' '.join(patterns)}: no case (expected: patterns of ids of the suite)")
        reactor.callWhenRunning(FuzzingRun(url, cases, result).go_on)
    reactor.run()


if __name__ == "__main__":
    main(*sys.argv[1:])
