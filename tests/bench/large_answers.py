"""Loads of memory.py from the side that the gateway calls: an MCP server, a webhook, and a model that calls both.

One port serves `/mcp`, whose tool answers with 16 MB of zeros, and `/tool`, which answers with 1 MB of text. A user message with
`[calls=60 lookup]` makes the model call `lookup` 60 times, and say "Done" once it has the results.
"""

import collections
import http.server
import json
import re
import threading

RUNS = 20
RESULTS = 60
RESULT_BYTES = 1 << 20
MESSAGE_BYTES = 16 << 20
MCP_TOOL = "mcp__zeros__zeros"


def frame(choice):
    return b"data: " + json.dumps({"choices": [{"index": 0} | choice]}).encode() + b"\n\n"


def calls_in(request):
    """The model's answer to a request that asks for calls; None if it asks for none."""
    asked = re.findall(rb"\[calls=(\d+) (\w+)\]", request)
    if not asked:
        return None
    if b'"tool_call_id"' in request:
        return frame({"delta": {"content": "Done"}}) + frame({"delta": {}, "finish_reason": "stop"}) + b"data: [DONE]\n\n"
    count, tool = asked[-1]
    made = [
        {"index": i, "id": f"c{i}", "type": "function", "function": {"name": tool.decode(), "arguments": json.dumps({"n": i})}}
        for i in range(int(count))
    ]
    return (
        b"".join(frame({"delta": {"tool_calls": [call]}}) for call in made)
        + frame({"delta": {}, "finish_reason": "tool_calls"})
        + b"data: [DONE]\n\n"
    )


class Tools(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    text = b"x" * RESULT_BYTES
    zeros = b"[" + b"0," * (MESSAGE_BYTES // 2 - 512) + b"0]"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path == "/tool":
            self.answer(self.text)
        elif "id" not in body:
            self.answer(b"", 202)
        else:
            self.answer(b'{"jsonrpc":"2.0","result":%s,"id":%d}' % (self.result_of(body["method"]), body["id"]))

    def result_of(self, method):
        if method == "initialize":
            return b'{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"z","version":"1"}}'
        if method == "tools/list":
            return b'{"tools":[{"name":"zeros","description":"d","inputSchema":{"type":"object"}}]}'
        if method == "tools/call":
            return b'{"content":[],"structuredContent":{"a":%s}}' % self.zeros
        return b"{}"

    def do_GET(self):
        self.answer(b"", 405)

    def do_DELETE(self):
        self.answer(b"", 200)

    def answer(self, body, status=200):
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            self.close_connection = True  # The gateway had no room for the rest.

    def log_message(self, *_):
        pass


def config():
    """What follows [server] in the configuration; starts the tools."""
    tools = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Tools)
    tools.daemon_threads = True
    threading.Thread(target=tools.serve_forever, daemon=True).start()
    return f"""
[[mcp_servers]]
name = "zeros"
url = "http://127.0.0.1:{tools.server_port}/mcp"
[[tools.webhook]]
name = "lookup"
description = "Looks something up."
url = "http://127.0.0.1:{tools.server_port}/tool"
"""


def how_it_ended(body):
    for code in (b"overloaded", b"token_limit", b"RUN_FINISHED"):
        if code in body:
            return code.decode()
    return "otherwise"


def run_all(gateway, at_once, run_body, calls):
    """As many runs at once, each of which calls its tool so often. Afterwards a thread is usable as before."""
    answers = collections.Counter()

    def one(i):
        status, body = gateway.ask("POST", "/agui", run_body(f"t{i}", "r", f"[calls={calls}]"))
        return f"{status} {how_it_ended(body)}"

    answers += at_once(RUNS, one)
    for i in range(RUNS):
        status, _ = gateway.ask("GET", f"/agui/threads/t{i}")
        answers[f"thread {status}" + ("" if status == 200 else " late")] += 1
    return answers
