#!/usr/bin/env python3
"""What the gateway's memory does under the worst that clients can do at once, and how long a probe waits during it.

usage: memory.py [--memory MIB] [--seconds N] [--only zeros,unknown,plain,ephemeral,endless,files,idle,bodies,mcp,results]

The release build with its default limits, except for server.max_memory_bytes (--memory, 2048 MiB; bodies: 256 MiB; mcp, results: 64 MiB). Each workload has a
fresh process with an SQLite store. One line each: PSS at its peak and 2 s after the end, the answers by status, how the runs ended, how
long photos took, and the delays of GET /healthz, asked every 10 ms on a connection of its own. Exit status 1: PSS went above the
limit (bodies, mcp, results: by more than 64 MB) or, beside files and idle connections, grew by more than 64 MB; a probe took longer than is promised
(zeros, unknown: p99 50 ms; files, idle, bodies, mcp, results: 100 ms); a photo or one of the bodies was refused that had to be accepted;
or a run was lost. AGUI_BIN_DIR names another build.
"""

import argparse
import collections
import http.client
import http.server
import json
import math
import multiprocessing
import os
import pathlib
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

import large_answers

ROOT = pathlib.Path(__file__).resolve().parents[2]
GROWTH_MB_MAX = 64
PHOTO_BYTES = 1_500_000
BODY_BYTES = 33_000_000
BODIES_MB = 256  # server.max_memory_bytes for the workload `bodies`.
FILE_BYTES = 20 << 20
CONNECTIONS = 50
IDLE_SECONDS = 5  # From then on an idle connection gives way.
PROCESSES = multiprocessing.get_context("spawn")


class Model(http.server.BaseHTTPRequestHandler):
    """Streams as much text as the last user message asks for: `[mb=30]`; without a number, until it is cut off."""

    protocol_version = "HTTP/1.1"
    piece = ("data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": "x" * 16_000}}]}) + "\n\n").encode()

    def do_POST(self):
        text = self.rfile.read(int(self.headers["content-length"]))
        calls = large_answers.calls_in(text)
        asked = re.findall(rb"\[mb=(\d+)\]", text)
        pieces = int(asked[-1]) * 66 if asked else 1 << 30
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        try:
            if calls is not None:
                self.wfile.write(calls)
                return
            for _ in range(pieces):
                self.wfile.write(self.piece)
            self.wfile.write(b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')
        except OSError:
            pass
        finally:
            self.close_connection = True

    def log_message(self, *_):
        pass


class Gateway:
    """`server` has more lines for [server]; {web} in it is a folder with a large file."""

    def __init__(self, model_port, memory, server):
        self.folder = tempfile.mkdtemp(prefix="agui-memory-")
        web = pathlib.Path(self.folder, "web")
        web.mkdir()
        (web / "large.bin").write_bytes(os.urandom(1 << 20) * (FILE_BYTES >> 20))
        config = pathlib.Path(self.folder, "gateway.toml")
        config.write_text(f"""
[server]
listen = "127.0.0.1:0"
log_level = "error"
max_memory_bytes = {memory}
{server.format(web=web, tools=large_answers.config() if "{tools}" in server else "")}
[session]
store = "sqlite:{self.folder}/agui.db"
[models.main]
provider = "openai"
base_url = "http://127.0.0.1:{model_port}/v1"
model = "m"
[[agents]]
id = "default"
models = ["main"]
""")
        binary = pathlib.Path(os.environ.get("AGUI_BIN_DIR", ROOT / "build/release/bin"), "agui-gateway")
        self.process = subprocess.Popen([binary, "--config", config], stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline().rsplit(":", 1)[1])
        self.photos_ms = []

    def pss(self):
        text = pathlib.Path(f"/proc/{self.process.pid}/smaps_rollup").read_text()
        return int(re.search(r"^Pss:\s+(\d+)", text, re.MULTILINE)[1]) / 1024

    def end(self):
        """Ends the process, whose store is its own until then. How its runs ended."""
        self.process.kill()
        self.process.wait()
        store = sqlite3.connect(pathlib.Path(self.folder, "agui.db"))
        ends = store.execute("SELECT status, end_reason FROM runs").fetchall()
        store.close()
        return collections.Counter(reason or status for status, reason in ends)

    def stop(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder)

    def ask(self, method, path, body=None, timeout=600):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        connection.request(method, path, body, {"content-type": "application/json"} if body else {})
        response = connection.getresponse()
        try:
            return response.status, response.read()
        finally:
            connection.close()


def probe(port, over, delays):
    """In a separate process: threads that make bodies would delay it. A refused probe takes forever."""
    taken = []
    while not over.wait(0.01):
        begin = time.monotonic()
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", "/healthz")
        response = connection.getresponse()
        response.read()
        connection.close()
        taken.append((time.monotonic() - begin) * 1000 if response.status == 200 else math.inf)
    delays.send(taken)


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


class Watch:
    """Looks at the memory, and asks for /healthz, until it is left."""

    def __init__(self, gateway):
        self.gateway = gateway
        self.before = gateway.pss()
        self.peak = self.before
        self.delays = []
        self.over = PROCESSES.Event()
        self.result, self.sender = PROCESSES.Pipe(False)
        self.prober = PROCESSES.Process(target=probe, args=(gateway.port, self.over, self.sender))
        self.looker = threading.Thread(target=self.look)

    def look(self):
        while not self.over.wait(0.05):
            self.peak = max(self.peak, self.gateway.pss())

    def __enter__(self):
        self.prober.start()
        self.sender.close()  # A prober that fails is an end of the pipe.
        self.looker.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.delays = self.result.recv()
        self.prober.join()
        self.looker.join()

    def quantile(self, share):
        return quantile(self.delays, share)


def run_body(thread, run, text="hello", more=""):
    message = json.dumps({"id": f"{run}-u", "role": "user", "content": text})
    return f'{{"threadId":"{thread}","runId":"{run}",{more}"messages":[{message}]}}'.encode()


def at_once(count, job):
    answers = []

    def one(i):
        try:
            answers.append(job(i))
        except OSError as error:
            answers.append(type(error).__name__)

    threads = [threading.Thread(target=one, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return collections.Counter(answers)


def post_zeros(gateway, seconds, member):
    """Ten clients, one 32 MB body after the other."""
    zeros = "[" + "0," * (16 * 1024 * 1024 - 2048) + "0]"
    until = time.monotonic() + seconds
    answers = collections.Counter()

    def client(i):
        count = 0
        while time.monotonic() < until:
            count += 1
            body = run_body(f"t{i}-{count}", "r", "[mb=0]", f'"{member}":{zeros},')
            status, _ = gateway.ask("POST", "/agui", body)
            answers[status] += 1
            if status != 200:
                time.sleep(0.2)
        return "done"

    at_once(10, client)
    return answers


def read_slowly(gateway, seconds, _):
    """100 readers of a 17 MB reply that take next to nothing."""
    status, _ = gateway.ask("POST", "/agui", run_body("long", "r", "[mb=17]"))
    assert status == 200
    readers = []
    answers = collections.Counter()
    for _ in range(100):
        reader = socket.socket()
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        reader.settimeout(60)
        reader.connect(("127.0.0.1", gateway.port))
        reader.sendall(b"GET /agui/threads/long/messages HTTP/1.1\r\nHost: localhost\r\n\r\n")
        readers.append(reader)
    for reader in readers:
        answers[int(reader.recv(100).split()[1])] += 1
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for reader in readers:
            try:
                reader.recv(16)
            except OSError:
                pass
        time.sleep(0.5)
    for reader in readers:
        reader.close()
    return answers


def run_ephemerally(gateway, _seconds, _):
    """30 runs of 30 MB that are not to be kept, six at a time."""
    answers = collections.Counter()
    for begin in range(0, 30, 6):
        more = '"forwardedProps":{"ephemeral":true},'

        def one(i):
            status, body = gateway.ask("POST", "/agui", run_body(f"e{begin + i}", "r", "[mb=30]", more))
            return f"{status} {'token_limit' if b'token_limit' in body else 'whole'}"

        answers += at_once(6, one)
    return answers


def leave_unread(gateway, seconds, _):
    """Ten runs without an end that nobody reads. None may be lost: each ends where its limits end it."""
    answers = collections.Counter()
    readers = []
    for i in range(10):
        reader = socket.socket()
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        reader.settimeout(60)
        reader.connect(("127.0.0.1", gateway.port))
        body = run_body(f"u{i}", "r", "on and on")
        reader.sendall(
            b"POST /agui HTTP/1.1\r\nHost: localhost\r\nX-On-Disconnect: continue\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n" % len(body) + body
        )
        readers.append(reader)
    for reader in readers:
        answers[int(reader.recv(100).split()[1])] += 1
    time.sleep(seconds)
    return answers


def send_photos(gateway, over, answers, least_age=0.0):
    """A message with a photo each half second until over(age). One that is refused at `least_age` or later is a failure."""
    begin = time.monotonic()
    number = 0
    while not over(age := time.monotonic() - begin):
        number += 1
        try:
            status, _ = gateway.ask("POST", "/agui", run_body(f"photo{number}", "r", "[mb=0]" + "x" * PHOTO_BYTES))
        except OSError as error:  # The refusal came while the body was being sent.
            status = type(error).__name__
        gateway.photos_ms.append((time.monotonic() - begin - age) * 1000)
        early = status != 200 and age < least_age
        answers[f"photo {status}" + (" early" if early else "" if status == 200 else " late")] += 1
        time.sleep(0.5)


def read_files_slowly(gateway, seconds, _):
    """30 readers of a 20 MB file that take next to nothing."""
    readers = []
    answers = collections.Counter()
    for _ in range(30):
        reader = socket.socket()
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        reader.settimeout(60)
        reader.connect(("127.0.0.1", gateway.port))
        reader.sendall(b"GET /large.bin HTTP/1.1\r\nHost: localhost\r\n\r\n")
        readers.append(reader)
    for reader in readers:
        answers[int(reader.recv(100).split()[1])] += 1
    send_photos(gateway, lambda age: age >= seconds, answers)
    for reader in readers:
        reader.close()
    return answers


def stay_idle(gateway, seconds, _):
    """As many clients as may connect, each of which has had an answer and asks for nothing more."""
    answers = collections.Counter()
    clients = []
    for _ in range(CONNECTIONS):
        client = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=60)
        client.request("GET", "/version")
        response = client.getresponse()
        response.read()
        answers[response.status] += 1
        clients.append(client)
    send_photos(gateway, lambda age: age >= seconds, answers, IDLE_SECONDS + 1)
    for client in clients:
        client.close()
    return answers


def send_bodies(gateway, _seconds, _):
    """Twelve bodies at once, of which hardly two have room, and photos until all have been answered."""
    photos = collections.Counter()
    answered = threading.Event()
    sender = threading.Thread(target=send_photos, args=(gateway, lambda _: answered.is_set(), photos))
    sender.start()

    def post_body(i):
        try:
            status, _ = gateway.ask("POST", "/agui", run_body(f"body{i}", "r", "[mb=0]" + "x" * BODY_BYTES))
        except OSError as error:
            status = type(error).__name__
        return status if status == 200 else f"{status} late"

    answers = at_once(12, post_body)
    answered.set()
    sender.join()
    return answers + photos


def call_tools(gateway, _seconds, calls):
    return large_answers.run_all(gateway, at_once, run_body, calls)


# What it does, its argument, more lines for [server], and which quantile of the probes' delays may be how many ms.
WORKLOADS = {
    "zeros": (post_zeros, "state", "", (0.99, 50)),
    "unknown": (post_zeros, "unknown", "", (0.99, 50)),
    "plain": (read_slowly, None, "", None),
    "ephemeral": (run_ephemerally, None, "", None),
    "endless": (leave_unread, None, "", None),
    "files": (read_files_slowly, None, 'static_dir = "{web}"', (1, 100)),
    "idle": (stay_idle, None, f"max_connections = {CONNECTIONS}", (1, 100)),
    "bodies": (send_bodies, None, "", (1, 100)),
    "mcp": (call_tools, f"1 {large_answers.MCP_TOOL}", "{tools}", (1, 100)),
    "results": (call_tools, f"{large_answers.RESULTS} lookup", "{tools}", (1, 100)),
}
OWN_MEMORY = {"bodies": BODIES_MB, "mcp": 64, "results": 64}  # In MiB; others have what was asked for.
FEW_MEGABYTES = ("files", "idle")  # These need hardly any memory.


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--memory", type=int, default=2048)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--only", default=",".join(WORKLOADS))
    options = parser.parse_args()
    model = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    model.daemon_threads = True
    threading.Thread(target=model.serve_forever, daemon=True).start()
    good = True
    for name in options.only.split(","):
        work, argument, server, promised = WORKLOADS[name]
        memory = OWN_MEMORY.get(name, options.memory)
        gateway = Gateway(model.server_port, memory << 20, server)
        try:
            with Watch(gateway) as watch:
                answers = work(gateway, options.seconds, argument)
            time.sleep(2)
            after = gateway.pss()
            ends = gateway.end()
            print(
                f"{name}: PSS {watch.before:.0f} MB before, {watch.peak:.0f} at the peak, {after:.0f} after; "
                f"/healthz p50 {watch.quantile(0.5):.1f} ms, p99 {watch.quantile(0.99):.1f}, most {max(watch.delays):.1f}; "
                + (f"photos p50 {quantile(gateway.photos_ms, 0.5):.0f} ms, most {max(gateway.photos_ms):.0f}; " if gateway.photos_ms else "")
                + f"answers {dict(answers)}; runs {dict(ends)}",
                flush=True,
            )
            good = good and "store_unavailable" not in ends
            good = good and watch.peak <= memory + (GROWTH_MB_MAX if name in OWN_MEMORY else 0)
            good = good and (name not in FEW_MEGABYTES or watch.peak <= watch.before + GROWTH_MB_MAX)
            good = good and (promised is None or watch.quantile(promised[0]) <= promised[1])
            good = good and not any(str(answer).endswith("late") for answer in answers)
        finally:
            gateway.stop()
    sys.exit(0 if good else 1)


if __name__ == "__main__":  # The prober reads this file, too.
    main()
