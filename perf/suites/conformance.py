"""Runs h2spec and the Autobahn test suite through the gateway's doors: see perf/conformance."""

import argparse
import concurrent.futures
import datetime
import json
import os
import random
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import xml.etree.ElementTree

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
JAR = os.path.join(ROOT, "gateway/target/weir-gateway.jar")
TABLE = os.path.join(ROOT, "perf/results/conformance.md")
FUZZER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fuzzer.py")

START_SECONDS = 120
# Longer than the gateway's own time-outs of an idle caller.
HELD_SECONDS = 30
# Of one program; the large messages of Autobahn take minutes.
SUITE_SECONDS = 900
# The suites mostly wait.
CONCURRENT_SUITES = 3
H2SPEC_CASES = 145

# Everything but large messages and compression.
PROTOCOL_CASES = ["[1-8].*", "10.*"]
LARGE_CASES = ["9.*"]
# One for each file of messages, and for each offer of parameters.
DEFLATE_CASES = ["12.*.1", "13.*.1"]

# Cases that may go worse than at the backend itself. The suite calls NON-STRICT that the gateway holds a
# frame until it is complete (config/edge.md), so that the backend finds a fault in a part of a frame later;
# ...
HELD_FRAMES = {"6.4.3", "6.4.4"}
# ... and that it ends a WebSocket at the caller's protocol error at once, without the answers under way.
EARLY_ENDS = {"4.1.3", "4.1.4", "4.1.5", "4.2.3", "4.2.4", "4.2.5", "5.15"}

# From best to worst.
BEHAVIOURS = [
    "OK", "INFORMATIONAL", "NON-STRICT", "UNIMPLEMENTED",
    "WRONG CODE", "FAILED BY CLIENT", "UNCLEAN", "FAILED",
]

# The general door serves routes with predicates that Weir does not compile. Overload of a machine that does
# other work, too, is not what the suites test.
GATEWAY = """
server: {{ address: 127.0.0.1, port: {port} }}
management.server.port: {management}
spring.cloud.gateway.server.webflux.routes:
  - {{ id: compiled, uri: "backend://http", predicates: ["Path=/compiled/**"] }}
  - {{ id: general, uri: "backend://http", predicates: ["Path=/general/**", "After=2020-01-01T00:00:00Z"] }}
  - {{ id: sockets-compiled, uri: "backend://sockets", predicates: ["Path=/sockets-compiled/**"] }}
  - {{ id: sockets-general, uri: "backend://sockets", predicates: ["Path=/sockets-general/**", "After=2020-01-01T00:00:00Z"] }}
weir:
  access-log.enabled: false
  drain: {{ delay: 0s, timeout: 2s }}
  warm-up: {{ max-duration: 0s }}
  edge: {{ max-websocket-frame-size: 16MB }}
  overload: {{ target-event-loop-delay: 1m, max-event-loop-delay: 1m }}
  backends:
    http: {{ uri: "http://127.0.0.1:{http}" }}
    sockets: {{ uri: "http://127.0.0.1:{sockets}" }}
  routes:
    sockets-compiled: {{ mode: stream }}
    sockets-general: {{ mode: stream }}
"""
GATEWAY_TLS = """
server.ssl.bundle: edge
spring.ssl.bundle.pem.edge.keystore:
  certificate: "file:{directory}/cert.pem"
  private-key: "file:{directory}/key.pem"
"""

HAPROXY = """
global
    maxconn 1000
defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
    timeout tunnel 60s
frontend callers
    bind 127.0.0.1:{port}
    bind 127.0.0.1:{tls_port} ssl crt {directory}/both.pem alpn h2,http/1.1
    use_backend sockets if {{ path_beg /sockets }}
    default_backend http
backend http
    server one 127.0.0.1:{http}
backend sockets
    server one 127.0.0.1:{sockets}
"""

ENVOY = """
static_resources:
  listeners:
    - address: {{ socket_address: {{ address: 127.0.0.1, port_value: {port} }} }}
      filter_chains: [ {{ filters: [ &http {{ name: envoy.filters.network.http_connection_manager, typed_config: {{
        "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager,
        stat_prefix: callers,
        upgrade_configs: [ {{ upgrade_type: websocket }} ],
        http_filters: [ {{ name: envoy.filters.http.router, typed_config: {{
          "@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router }} }} ],
        route_config: {{ virtual_hosts: [ {{ name: all, domains: [ "*" ], routes: [
          {{ match: {{ prefix: /sockets }}, route: {{ cluster: sockets, timeout: 0s }} }},
          {{ match: {{ prefix: / }}, route: {{ cluster: http }} }} ] }} ] }} }} }} ] }} ]
    - address: {{ socket_address: {{ address: 127.0.0.1, port_value: {tls_port} }} }}
      filter_chains: [ {{ filters: [ *http ], transport_socket: {{ name: envoy.transport_sockets.tls, typed_config: {{
        "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext,
        common_tls_context: {{ alpn_protocols: [ h2, http/1.1 ], tls_certificates: [ {{
          certificate_chain: {{ filename: {directory}/cert.pem }},
          private_key: {{ filename: {directory}/key.pem }} }} ] }} }} }} }} ]
  clusters:
    - {{ name: http, connect_timeout: 5s, load_assignment: {{ cluster_name: http, endpoints: [ {{ lb_endpoints: [
        {{ endpoint: {{ address: {{ socket_address: {{ address: 127.0.0.1, port_value: {http} }} }} }} }} ] }} ] }} }}
    - {{ name: sockets, connect_timeout: 5s, load_assignment: {{ cluster_name: sockets, endpoints: [ {{ lb_endpoints: [
        {{ endpoint: {{ address: {{ socket_address: {{ address: 127.0.0.1, port_value: {sockets} }} }} }} }} ] }} ] }} }}
"""


# The certificate is our own.
UNVERIFIED = ssl.create_default_context()
UNVERIFIED.check_hostname = False
UNVERIFIED.verify_mode = ssl.CERT_NONE


class Failed(Exception):
    pass


def free_ports(count):
    """Ports below those that the kernel gives to connections, which would take them before the servers do."""
    sockets = {}
    try:
        while len(sockets) < count:
            port = random.randrange(10_000, 30_000)
            free = socket.socket()
            try:
                free.bind(("127.0.0.1", port))
                sockets[port] = free
            except OSError:
                free.close()
        return list(sockets)
    finally:
        for each in sockets.values():
            each.close()


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def answers(url):
    """Whether the answer is 200."""
    try:
        with urllib.request.urlopen(url, timeout=5, context=UNVERIFIED) as answer:
            return answer.status == 200
    except OSError:
        return False


class Programs:
    """The programs of the suites that run. Thread-safe."""

    def __init__(self):
        self.lock = threading.Lock()
        self.running = set()
        self.is_ended = False

    def run(self, *command):
        """Returns the exit status and the output."""
        with self.lock:
            if self.is_ended:
                raise Failed("ended by a signal")
            program = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )
            self.running.add(program)
        try:
            output, _ = program.communicate(timeout=SUITE_SECONDS)
        except subprocess.TimeoutExpired as e:
            raise Failed(f"{' '.join(command)}: did not end within {SUITE_SECONDS} s") from e
        finally:
            with self.lock:
                self.running.discard(program)
            program.kill()
            program.wait()
        return program.returncode, output

    def end(self):
        """Ends all, and starts no more."""
        with self.lock:
            self.is_ended = True
            for program in self.running:
                program.terminate()


PROGRAMS = Programs()


class Processes:
    """The servers that this script starts and stops, with their logs."""

    def __init__(self, directory):
        self.directory = directory
        self.running = []

    def log(self, name):
        return os.path.join(self.directory, name + ".log")

    def start(self, name, *command):
        with open(self.log(name), "w", encoding="utf-8") as log:
            # If this script is killed, the servers end too.
            process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "TERM", *command],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=self.directory,
            )
        self.running.append((name, process))

    def await_answer(self, url):
        until = time.monotonic() + START_SECONDS
        while not answers(url):
            for name, process in self.running:
                if process.poll() is not None:
                    raise Failed(f"{name} ended with status {process.returncode}:\n{read(self.log(name))[-3000:]}")
            if time.monotonic() > until:
                logs = "\n".join(f"== {name}\n{read(self.log(name))[-2000:]}" for name, _ in self.running)
                raise Failed(f"{url}: no answer within {START_SECONDS} s\n{logs}")
            time.sleep(0.1)

    def stop(self):
        for _, process in reversed(self.running):
            if process.poll() is None:
                process.terminate()
        for _, process in reversed(self.running):
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


class Target:
    """A place where the suites' requests go."""

    def __init__(self, label, ports, http_path, sockets_path, is_ours=False):
        self.label = label
        self.port, self.tls_port = ports
        self.http_path = http_path
        self.sockets_url = f"ws://127.0.0.1:{self.port}{sockets_path}"
        self.is_ours = is_ours


class Row:
    """A line of the table: a suite's cases through a target."""

    def __init__(self, suite, target, cases, failed, remark=""):
        self.suite = suite
        self.target = target
        self.cases = cases
        # The ids, each with the reason.
        self.failed = failed
        self.remark = remark

    def line(self):
        ids = " ".join(sorted(self.failed, key=sort_key))
        return f"| {self.suite} | {self.target.label} | {self.cases} | {len(self.failed)} | {ids} | {self.remark} |"


def sort_key(case_id):
    return [(0, int(part)) if part.isdigit() else (1, part) for part in re.split(r"[./]", case_id)]


# ---------------------------------------------------------------- h2spec

def run_h2spec(program, target, is_tls, directory):
    """Runs all cases; repeats those that fail, since a busy machine exceeds the time-outs."""
    name = f"h2spec, {'TLS' if is_tls else 'clear text'}"
    cases = h2spec_results(program, target, is_tls, directory)
    failed = {case: why for case, why in cases.items() if why}
    for case in list(failed):
        why = h2spec_results(program, target, is_tls, directory, case).get(case, "did not run")
        if why:
            failed[case] = why
        else:
            del failed[case]
    if len(cases) != H2SPEC_CASES:
        failed["all"] = f"{len(cases)} cases (expected: {H2SPEC_CASES})"
    return Row(name, target, len(cases), failed)


def h2spec_results(program, target, is_tls, directory, *cases):
    """The cases' ids, each with the reason of a failure, or an empty text."""
    with tempfile.TemporaryDirectory(dir=directory) as place:
        report = os.path.join(place, "report.xml")
        port = target.tls_port if is_tls else target.port
        tls = ["-t", "-k"] if is_tls else []
        status, output = PROGRAMS.run(program, "-p", str(port), "-P", target.http_path, "-j", report, *tls, *cases)
        if not os.path.exists(report):
            raise Failed(f"h2spec, {target.label}: status {status}, no report:\n{output[-3000:]}")
        results = {}
        # The reasons may contain bytes of the connection, which XML excludes.
        text = re.sub(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd]", "?", read(report))
        for suite in xml.etree.ElementTree.fromstring(text).iter("testsuite"):
            for number, case in enumerate(suite.findall("testcase"), 1):
                # Of a single case the others are missing, so its number is that of the command.
                case_id = cases[0] if cases else f"{suite.get('package')}/{number}"
                bad = [each for each in case if each.tag in ("failure", "error", "skipped")]
                why = " ".join(f"{each.tag}: {''.join(each.itertext())}".replace("\n", " ") for each in bad)
                results[case_id] = f"{case.get('classname')}: {why}" if bad else ""
        return results


# ---------------------------------------------------------------- Autobahn

def run_autobahn(target, patterns, directory):
    """The cases' ids, each with its behaviour, that at the close, and the reason."""
    with tempfile.TemporaryDirectory(dir=directory) as place:
        result = os.path.join(place, "result.json")
        status, output = PROGRAMS.run(sys.executable, FUZZER, "run", target.sockets_url, result, *patterns)
        if status != 0 or not os.path.exists(result):
            raise Failed(f"{FUZZER}, {target.label}: status {status}, no results:\n{output[-3000:]}")
        return json.loads(read(result))


def compare(suite, target, results, direct):
    """A case fails that behaves worse than at the backend itself."""
    failed = {}
    lenient = set()
    for case, (behaviour, close, why) in results.items():
        there = direct[case]
        is_lenient = target.is_ours and behaviour == "NON-STRICT" and case in HELD_FRAMES | EARLY_ENDS
        if is_lenient and not is_worse(close, there[1]):
            lenient.add(case)
        elif is_worse(behaviour, there[0]) or is_worse(close, there[1]):
            failed[case] = f"{behaviour}, close {close} (the backend itself: {there[0]}, close {there[1]}): {why}"
    remark = f"less strict: {' '.join(sorted(lenient, key=sort_key))}" if lenient else ""
    only_open = [case for case in failed if not is_worse(results[case][0], direct[case][0])]
    if only_open:
        remark = f"{len(only_open)} of them only because the connection stays open after the WebSocket's end"
    return Row(suite, target, len(results), failed, remark)


def is_worse(behaviour, than):
    return BEHAVIOURS.index(behaviour) > max(BEHAVIOURS.index(than), BEHAVIOURS.index("INFORMATIONAL"))


def judge_backend(suite, target, results):
    """The backend's own faults."""
    failed = {
        case: f"{behaviour}, close {close}: {why}"
        for case, (behaviour, close, why) in results.items()
        if is_worse(behaviour, "NON-STRICT") or is_worse(close, "NON-STRICT")
    }
    return Row(suite, target, len(results), failed)


def judge_deflate(target, results):
    """The gateway declines the extension: the WebSocket opens without it. Others pass it on."""
    failed = {
        case: f"{behaviour}, close {close}: {why}"
        for case, (behaviour, close, why) in results.items()
        if behaviour != ("UNIMPLEMENTED" if target.is_ours else "OK") or close != "OK"
    }
    return Row("Autobahn, deflate", target, len(results), failed, "declined" if target.is_ours else "")


# ---------------------------------------------------------------- the run

class Conformance:
    """The backend, the gateways and the peers; and the suites that run against them."""

    def __init__(self, options, directory):
        self.options = options
        self.directory = directory
        self.processes = Processes(directory)
        self.http, self.sockets = free_ports(2)
        self.places = {"http": self.http, "sockets": self.sockets, "directory": directory}
        self.managements = []
        self.versions = []

    def start(self):
        """Returns the backend itself, and the other targets."""
        self.make_certificate()
        self.processes.start("backend", sys.executable, FUZZER, "backend", str(self.sockets), str(self.http))
        ports = [self.start_gateway("gateway", GATEWAY), self.start_gateway("gateway-tls", GATEWAY + GATEWAY_TLS)]
        targets = [
            Target("Weir, compiled door", ports, "/compiled/1", "/sockets-compiled/1", is_ours=True),
            Target("Weir, general door", ports, "/general/1", "/sockets-general/1", is_ours=True),
        ]
        if self.options.peers:
            targets += self.start_peers()
        for management in self.managements:
            self.processes.await_answer(management + "/health/readiness")
        for target in targets:
            self.processes.await_answer(f"http://127.0.0.1:{target.port}{target.http_path}")
            self.processes.await_answer(f"https://127.0.0.1:{target.tls_port}{target.http_path}")
        return Target("Autobahn's server itself", (self.sockets, 0), "", "/"), targets

    def make_certificate(self):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
             "-days", "2", "-subj", "/CN=localhost", "-keyout", "key.pem", "-out", "cert.pem"],
            cwd=self.directory, check=True, capture_output=True,
        )
        both = read(f"{self.directory}/cert.pem") + read(f"{self.directory}/key.pem")
        write(f"{self.directory}/both.pem", both)

    def start_gateway(self, name, template):
        port, management = free_ports(2)
        self.managements.append(f"http://127.0.0.1:{management}/actuator")
        text = template.format(port=port, management=management, **self.places)
        file = write(os.path.join(self.directory, name + ".yml"), text)
        # A JVM that lives for a minute needs less compilation.
        quick = ["-XX:TieredStopAtLevel=1"] if self.options.quick else []
        self.processes.start(name, self.options.java, "-Xmx384m", *quick, "-jar", JAR, file)
        return port

    def start_peers(self):
        peers = []
        for label, program, text, arguments, version in [
            ("HAProxy", "haproxy", HAPROXY, ["-db", "-q", "-f"], "-v"),
            ("Envoy", "envoy", ENVOY, ["--disable-hot-restart", "--log-level", "error", "-c"], "--version"),
        ]:
            if not shutil.which(program):
                print(f"{label} is left out, since it is not installed.", flush=True)
                continue
            said = subprocess.run([program, version], capture_output=True, text=True, check=True).stdout
            self.versions.append(f"{label} {re.search(r'version:? (?:[0-9a-f]+/)?([0-9.]+)', said).group(1)}")
            port, tls_port = free_ports(2)
            file = os.path.join(self.directory, program + (".yaml" if program == "envoy" else ".cfg"))
            write(file, text.format(port=port, tls_port=tls_port, **self.places))
            self.processes.start(program, program, *arguments, file)
            peers.append(Target(label, (port, tls_port), "/1", "/sockets"))
        return peers

    def run(self):
        """The lines of the table."""
        backend, targets = self.start()
        rows = []
        with concurrent.futures.ThreadPoolExecutor(CONCURRENT_SUITES) as pool:
            direct = pool.submit(run_autobahn, backend, PROTOCOL_CASES, self.directory)
            protocol = [pool.submit(run_autobahn, each, PROTOCOL_CASES, self.directory) for each in targets]
            http2 = [
                pool.submit(run_h2spec, self.options.h2spec, each, is_tls, self.directory)
                for is_tls in (False, True)
                for each in targets
            ]
            deflate = [pool.submit(run_autobahn, each, DEFLATE_CASES, self.directory) for each in targets]
            rows += [each.result() for each in http2]
            rows.append(judge_backend("Autobahn", backend, direct.result()))
            rows += [compare("Autobahn", *each, direct.result()) for each in with_results(targets, protocol)]
        if not self.options.quick:
            # One after the other: the fuzzer needs a processor, and the cases have time-outs.
            large = run_autobahn(backend, LARGE_CASES, self.directory)
            rows.append(judge_backend("Autobahn, large messages", backend, large))
            for each in targets:
                results = run_autobahn(each, LARGE_CASES, self.directory)
                rows.append(compare("Autobahn, large messages", each, results, large))
        rows += [judge_deflate(*each) for each in with_results(targets, deflate)]
        return rows

    def problems(self):
        """After the suites nothing is in flight, and no caller has caused an error in a gateway's log."""
        found = []
        for management in self.managements:
            until = time.monotonic() + HELD_SECONDS
            while (held := in_flight(management)) != (0, 0) and time.monotonic() < until:
                time.sleep(0.2)
            if held != (0, 0):
                found.append(f"after the suites a gateway holds {held[0]} exchanges, {held[1]} of them streams")
        for name, _ in self.processes.running:
            if name.startswith("gateway"):
                errors = re.findall(r"^.* ERROR .*$|^\tat .*$", read(self.processes.log(name)), re.MULTILINE)
                found += [f"{name} has logged: {error}" for error in errors[:10]]
        return found


def with_results(targets, futures):
    return [(target, future.result()) for target, future in zip(targets, futures)]


def in_flight(management):
    with urllib.request.urlopen(management + "/weir", timeout=10, context=UNVERIFIED) as answer:
        gateway = json.load(answer)["gateway"]
        return gateway["inFlight"], gateway["streams"]


def table(rows):
    return "\n".join([
        "| suite | through | cases | failed | cases that failed | remark |",
        "|---|---|---:|---:|---|---|",
        *(row.line() for row in rows),
    ])


def page(rows, versions, is_quick):
    today = datetime.datetime.now(datetime.timezone.utc).date()
    options = (" --quick" if is_quick else "") + (" --peers" if versions else "")
    beside = f" Beside {' and '.join(versions)}, with no settings of their own." if versions else ""
    return f"""# HTTP/2 and WebSocket conformance

Written by `perf/conformance{options} --write` on {today}: h2spec 2.2.1, and the Autobahn test suite
25.10.1 on Autobahn 24.4.2, whose server is the backend of the WebSockets.{beside}

- A case of h2spec fails also if h2spec skips it.
- A case of Autobahn fails if the suite's verdict through the proxy is worse than at the backend itself. Verdicts of
  the gateway that are only *less strict* (NON-STRICT, a pass of the suite) do not count as failures: the gateway holds a
  frame until it is complete (6.4.3, 6.4.4), and ends a WebSocket at the caller's protocol error at once, without the
  answers under way (4.1.3 and others).
- *Large messages* are Autobahn's cases 9: up to 16 MB, or tens of thousands of fragments.
- *Deflate* is one case for each file and each offer of the cases 12 and 13. The gateway declines the extension: the
  suite's verdict is UNIMPLEMENTED, and any other verdict fails.
- Autobahn expects that the server closes the TCP connection after the close frames. A proxy that leaves its caller's
  connection open for a while fails such a case, although the WebSocket itself passes; a remark counts these cases.
- A case that fails is repeated alone before it counts, since a busy machine exceeds the suites' time-outs.

{table(rows)}
"""


def end(signal_number, _):
    PROGRAMS.end()
    sys.exit(128 + signal_number)


def main():
    parser = argparse.ArgumentParser(prog="perf/conformance")
    for name in ("--quick", "--peers", "--write"):
        parser.add_argument(name, action="store_true")
    parser.add_argument("--java", required=True)
    parser.add_argument("--h2spec", required=True)
    options = parser.parse_args()
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, end)
    with tempfile.TemporaryDirectory(prefix="weir-conformance.") as directory:
        conformance = Conformance(options, directory)
        try:
            rows = conformance.run()
            problems = conformance.problems()
        except Failed as e:
            print(f"perf/conformance: {e}", file=sys.stderr)
            sys.exit(1)
        finally:
            conformance.processes.stop()
    print(table(rows))
    ours = [row for row in rows if row.target.is_ours and row.failed]
    for row in ours:
        for case, why in sorted(row.failed.items(), key=lambda each: sort_key(each[0])):
            print(f"{row.suite}, {row.target.label}, {case}: {why}")
    if options.write:
        write(TABLE, page(rows, conformance.versions, options.quick))
    # A run of programs that count tests ends with such a line.
    failed = sum(len(row.failed) for row in ours)
    print(f"{sum(row.cases - len(row.failed) for row in rows if row.target.is_ours)} passed, {failed} failed")
    for problem in problems:
        print(f"perf/conformance: {problem}", file=sys.stderr)
    sys.exit(1 if failed or problems else 0)


if __name__ == "__main__":
    main()
