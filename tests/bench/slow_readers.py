#!/usr/bin/env python3
"""The slow readers of slow_readers.mjs: all of them in one process, each with a small receive buffer.

usage: slow_readers.py PORT READERS SECONDS FOLDER CURSOR...

Each takes 1 KB/s of a run t<i>, beginning after the run's CURSOR. After SECONDS this prints how much each has taken, one
JSON line, and waits for a line. By then the runs have ended and FOLDER/t<i>.sse holds what a fast reader got of each. Now every reader takes what is left at full speed and asks for the
rest with its last whole event's id; both together must be the fast reader's bytes. The second JSON line is the result.
"""

import collections
import http.client
import json
import pathlib
import re
import select
import socket
import statistics
import sys
import time

BYTES_A_SECOND = 1024
RECEIVE_BUFFER = 4096
NOTE = b": cut off"


class Reader:
    def __init__(self, port, run, cursor):
        self.run = run
        self.cursor = cursor
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
        self.socket.connect(("127.0.0.1", port))
        self.socket.sendall(f"GET {events(run, cursor)} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        self.socket.setblocking(False)
        self.received = bytearray()
        self.end = None

    def take(self, size):
        """Appends what is there, `size` bytes at the most; sets `end` at the end."""
        try:
            part = self.socket.recv(size)
        except BlockingIOError:
            return
        except ConnectionResetError:
            self.end = "reset"
            return
        self.received += part
        if not part:
            self.end = "closed"

    def body(self):
        """The body so far without its chunk framing, and whether its last chunk was there."""
        data = bytes(self.received)
        at = data.find(b"\r\n\r\n") + 4
        body = bytearray()
        while (line_end := data.find(b"\r\n", at)) >= 0:
            size = int(data[at:line_end], 16)
            if size == 0:
                return bytes(body), True
            body += data[line_end + 2 : line_end + 2 + size]
            at = line_end + 2 + size + 2
        return bytes(body), False


def events(run, after):
    return f"/agui/threads/t{run}/runs/r/events?after={after}"


def read_slowly(readers, seconds):
    begin = time.monotonic()
    step = 0
    while time.monotonic() - begin < seconds:
        reader = readers[step % len(readers)]
        if reader.end is None:
            reader.take(BYTES_A_SECOND)
        step += 1
        time.sleep(max(0.0, step / len(readers) - (time.monotonic() - begin)))


def read_rest(readers, seconds=60):
    """At full speed, all at once."""
    deadline = time.monotonic() + seconds
    poll = select.poll()
    open_readers = {one.socket.fileno(): one for one in readers if one.end is None}
    for descriptor in open_readers:
        poll.register(descriptor, select.POLLIN)
    while open_readers and time.monotonic() < deadline:
        for descriptor, _ in poll.poll(1000):
            reader = open_readers[descriptor]
            reader.take(1 << 20)
            if reader.end is None and reader.received.endswith(b"\r\n0\r\n\r\n"):
                reader.end = "complete"
            if reader.end is not None:
                poll.unregister(descriptor)
                del open_readers[descriptor]


def ids_of(text):
    return [int(one) for one in re.findall(rb"^id: (\d+)$", text, re.MULTILINE)]


def fault_of(reader, connection, fast):
    """None, or what is wrong with what the reader got and then got by asking for the rest."""
    body, _ = reader.body()
    events_of_it, blank_line, _ = body.rpartition(b"\n\n")
    whole = (events_of_it + blank_line).partition(NOTE)[0]
    if not fast.startswith(whole):
        return "what it got is no prefix of what a fast reader got"
    ids = ids_of(whole)
    last = ids[-1] if ids else reader.cursor
    connection.request("GET", events(reader.run, last))
    response = connection.getresponse()
    rest = response.read()
    if response.status != 200:
        return f"reading on was answered {response.status}"
    if whole + rest != fast:
        return "what it got and what it read on have a gap or a repeat"
    return None


def end_of(reader):
    body, complete = reader.body()
    if complete:
        return "read to the run's end"
    if reader.end is None:
        return "no end"
    return "cut off, told" if NOTE in body else f"cut off, {reader.end}"


def main():
    port, count, seconds = (int(one) for one in sys.argv[1:4])
    folder = pathlib.Path(sys.argv[4])
    cursors = [int(one) for one in sys.argv[5:]]
    readers = [Reader(port, i % len(cursors), cursors[i % len(cursors)]) for i in range(count)]
    read_slowly(readers, seconds)
    print(json.dumps({"bytesRead": round(statistics.mean(len(one.received) for one in readers))}), flush=True)
    sys.stdin.readline()

    read_rest(readers)
    faults = collections.Counter()
    fast = []
    for run, cursor in enumerate(cursors):
        whole = (folder / f"t{run}.sse").read_bytes()
        ids = ids_of(whole)
        if ids != list(range(1, len(ids) + 1)):
            sys.exit("a fast reader's ids are not consecutive")
        fast.append(whole[whole.index(b"id: %d\n" % (cursor + 1)) :])
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    for reader in readers:
        fault = fault_of(reader, connection, fast[reader.run])
        if fault is not None:
            faults[fault] += 1
    print(json.dumps({
        "ends": collections.Counter(end_of(one) for one in readers),
        "bytes": round(statistics.mean(len(one.received) for one in readers)),
        "resumed": count - sum(faults.values()),
        "faults": faults,
    }), flush=True)  # fmt: skip


main()
