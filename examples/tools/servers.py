#!/usr/bin/env python3
"""What tools.toml talks to, with Python's standard library alone.

servers.py [PORT]   on 127.0.0.1, port 9200: a model server (/v1), a webhook (/weather) and an MCP server (/mcp)
servers.py --stdio  the MCP server over standard input and output
"""
import json
import re
import sys
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def ask_model(request):
    """A scripted model: `use NAME {arguments}` makes it call that tool, `use NAME {arguments} forever` again and again."""
    messages = request["messages"]
    said = [m for m in messages if m["role"] == "user"][-1]["content"]
    text = said if isinstance(said, str) else "".join(part.get("text", "") for part in said)
    asked = re.search(r"use (\S+) ?(\{.*\})?( forever)?", text)
    answered = messages[-1]["role"] == "tool"
    if asked and (asked[3] or not answered):
        function = {"name": asked[1], "arguments": asked[2] or "{}"}
        call = {"index": 0, "id": f"call_{uuid.uuid4().hex[:8]}", "type": "function", "function": function}
        return {"tool_calls": [call]}, "tool_calls"
    if answered:
        results = []
        for message in reversed(messages):
            if message["role"] != "tool":
                break
            results.insert(0, message["content"])
        return {"content": "The tool says: " + ", ".join(results)}, "stop"
    names = [tool["function"]["name"] for tool in request.get("tools", [])]
    return {"content": "My tools: " + (", ".join(names) or "none")}, "stop"


def mcp(message):
    """The answer to a JSON-RPC request; None to a notification."""
    method, params = message.get("method"), message.get("params", {})
    if "id" not in message:
        return None
    if method == "initialize":
        result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                  "serverInfo": {"name": "dice", "version": "1"}}
    elif method == "tools/list":
        schema = {"type": "object", "required": ["sides"],
                  "properties": {"sides": {"type": "integer", "minimum": 2}}}
        result = {"tools": [{"name": "roll", "description": "Rolls a die.", "inputSchema": schema}]}
    elif method == "tools/call":
        rolled = f"a die of {params['arguments']['sides']} sides shows 4"  # https://xkcd.com/221/
        result = {"content": [{"type": "text", "text": rolled}]}
    elif method == "ping":
        result = {}
    else:
        return {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "not here"}}
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


class Server(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def reply(self, status, body=b"", kind="application/json"):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/weather":
            self.reply(200, json.dumps({"city": body["arguments"]["city"], "celsius": 21}).encode())
        elif self.path == "/mcp":
            answer = mcp(body)
            self.reply(202 if answer is None else 200, b"" if answer is None else json.dumps(answer).encode())
        elif self.path == "/v1/chat/completions":
            delta, reason = ask_model(body)
            chunk = {"id": "1", "object": "chat.completion.chunk",
                     "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
            self.reply(200, f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode(), "text/event-stream")
        else:
            self.reply(404)

    def do_GET(self):
        self.reply(405)

    def log_message(self, *_):
        pass


if "--stdio" in sys.argv:
    for line in sys.stdin:
        answer = mcp(json.loads(line))
        if answer is not None:
            print(json.dumps(answer), flush=True)
else:
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if sys.argv[1:] else 9200), Server)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
