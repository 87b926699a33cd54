"""What must hold of approvals and of the questions of tools; a part of check.py. It reads, besides:

  asked     {thread, interrupt, call, kind, message}             an open interrupt that a client answers next
  given     {thread, run, interruptId, status, payload?, end}    an answer, noted at the end of its run
  executed  {thread, toolCallId, inputs?}                        a call of the server tool, with the answers that it got

A run whose name ends with b and a number brings a new answer to what is open; one with an o, an answer to what has been
answered before. Each new answer holds a mark of its own, which is in what the call's result tells the model.
"""

import collections
import json
import re

import check_users

STORED = "an answer to an interrupt is stored once"
CALLED = "a server tool is called as often as its call says"
OWN = "a tool gets the answers to its own questions"
SETTLED = "no call waits at the end"
CHECKS = [STORED, CALLED, OWN, SETTLED]

# How often a tool may have been called after the last of its questions was asked, by the status of the call.
LAST_TIMES = {"answered": {1}, "denied": {0}, "cancelled": {0}, "indeterminate": {0, 1}, "dead": {0, 1}}


def is_new(line):
    return re.search(r"b\d+$", line["run"]) and line["status"] == "resolved"


def mark_of(payload):
    return payload.get("answer") or payload.get("reason") or payload["editedArgs"]["by"]


class Store:
    """What the store has of the calls of the server."""

    def __init__(self, database):
        threads = check_users.threads_in(database)
        self.statuses = {
            (threads[thread], call): status
            for thread, call, owner, status in database.execute("SELECT thread, call_id, owner, status FROM calls")
            if owner == "server"}
        self.questions = collections.Counter()
        self.answers = collections.Counter()
        self.results = collections.Counter()
        for thread, text in database.execute("SELECT thread, message FROM messages"):
            message = json.loads(text)
            note = message.get("content") if message["role"] == "activity" else {}
            kind = message.get("activityType")
            if kind == "agui-gateway.question":
                self.questions[threads[thread], note["toolCallId"]] += 1
            elif kind == "agui-gateway.answer":
                self.answers[threads[thread], note["answer"]["answer"]] += 1
            if message["role"] == "tool":
                marks = set(re.findall(r"marker:[^/\"]+/\w+", text))
                self.results.update((threads[thread], mark) for mark in marks)


def check_answers(report, asked, given, store, lossy):
    about = {(line["thread"], line["interrupt"]): line for line in asked}
    first, last = {}, {}
    for line in filter(is_new, given):
        key = line["thread"], line["interruptId"]
        first.setdefault(key, line)
        last[key] = line
    for key, question in about.items():
        if key not in first or key[0] in lossy:
            continue
        if question["kind"] == "input":
            count = store.answers[key[0], mark_of(first[key]["payload"])]
            report.expect(STORED, count == 1, (first[key], count))
        elif store.statuses.get((key[0], question["call"])) in ("answered", "denied"):
            count = store.results[key[0], mark_of(last[key]["payload"])]
            report.expect(STORED, count == 1, (last[key], count))


def check_inputs(report, asked, given, executed, lossy):
    places = {}
    for line in asked:
        if line["kind"] == "input":
            number = int(re.match(r"question (\d+) of ", line["message"]).group(1))
            places[line["thread"], line["interrupt"]] = line["call"], number
    answers = {
        (line["thread"], line["payload"]["answer"]): places.get((line["thread"], line["interruptId"]))
        for line in given if is_new(line) and "answer" in line["payload"]}
    for line in executed:
        for number, one in enumerate(line.get("inputs") or [], start=1):
            if line["thread"] not in lossy:
                found = answers.get((line["thread"], one["answer"]))
                report.expect(OWN, found == (line["toolCallId"], number), (line, found))


def check_calls(report, executed, store, lossy):
    times = collections.Counter((line["thread"], line["toolCallId"], len(line.get("inputs") or [])) for line in executed)
    for (thread, call), status in store.statuses.items():
        if thread in lossy:
            continue
        asked = store.questions[thread, call]
        report.expect(SETTLED, status in LAST_TIMES, (thread, call, status))
        counts = [times[thread, call, number] for number in range(asked + 1)]
        fits = counts[:-1] == [1] * asked and counts[-1] in LAST_TIMES.get(status, {0, 1})
        report.expect(CALLED, fits, (thread, call, status, counts))
    for thread, call, number in times:
        if thread not in lossy:
            known = (thread, call) in store.statuses and number <= store.questions[thread, call]
            report.expect(CALLED, known, (thread, call, number))


def check(report, notes, database, lossy):
    """`lossy`: threads of which something may have been lost with a server."""
    store = Store(database)
    check_answers(report, notes["asked"], notes["given"], store, lossy)
    check_inputs(report, notes["asked"], notes["given"], notes["executed"], lossy)
    check_calls(report, notes["executed"], store, lossy)
