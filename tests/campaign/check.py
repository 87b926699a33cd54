#!/usr/bin/env python3
"""Proves the promises P1 to P6 and P8 from what clients, the model server and a tool have written down, and from the store.

usage: check.py FOLDER

The folder holds, one JSON object a line, numbered in the order in which they happened:
  seen          {thread, run, sequence, data}    an event as some reader got it
  acknowledged  {thread, run, answers}           the first event of a run arrived: its input must be stored
  final         {thread, run, sequence, data}    every run, read again from its begin after all
  upstream      {thread, run, messages}          a request to the model server
  executed      {thread, toolCallId, inputs?}    a call of the server tool
  steered       {thread, id, taken, run, seq}    what became of a message for an active run
  violations    {what, ...}                      what the driver itself noticed
and agui.db. A thread is named USER:THREAD if there are users, and check_users.py looks at them. check_questions.py looks at
approvals and questions. Several gateways (peers.mjs) leave more behind, and
check_peers.py looks at it. The last line says `N passed, M failed`; each check counts once, its failures are listed.
"""

import collections
import json
import pathlib
import sqlite3
import sys

import check_peers
import check_questions
import check_users

TERMINALS = {"RUN_FINISHED", "RUN_ERROR"}
BRACKETS = {
    "TEXT_MESSAGE": "messageId",
    "TOOL_CALL": "toolCallId",
    "REASONING": "messageId",
    "REASONING_MESSAGE": "messageId",
}


def lines(folder, name):
    path = folder / f"{name}.jsonl"
    if not path.exists():
        return []
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


class Report:
    def __init__(self):
        self.failures = collections.defaultdict(list)
        self.subjects = collections.Counter()

    def expect(self, check, condition, detail):
        self.subjects[check] += 1
        if not condition:
            self.failures[check].append(detail)

    def finish(self, expected):
        for check in expected:
            if self.subjects[check] == 0:
                self.failures[check].append("there was nothing to check")
        for check, found in self.failures.items():
            print(f"FAILED {check}: {len(found)} of {self.subjects[check]}")
            for detail in found[:5]:
                print(f"    {detail}")
        for check in expected:
            print(f"  {check}: {self.subjects[check]} looked at")
        failed = len(self.failures)
        print(f"{len(expected) - sum(1 for one in expected if one in self.failures)} passed, {failed} failed")
        return 1 if failed else 0


def runs_of(final):
    runs = collections.defaultdict(dict)
    for line in final:
        runs[line["thread"], line["run"]][line["sequence"]] = line["data"]
    return runs


def check_streams(report, seen, runs):
    for name, events in runs.items():
        numbers = sorted(events)
        parsed = [json.loads(events[number]) for number in numbers]
        types = [event["type"] for event in parsed]
        report.expect("P8 numbers without a gap", numbers == list(range(1, len(numbers) + 1)), name)
        first = parsed[0]
        report.expect(
            "P1 RUN_STARTED of the request first",
            (first["type"], first.get("threadId"), first.get("runId")) == ("RUN_STARTED", check_users.id_of(name[0]), name[1]),
            name,
        )
        report.expect(
            "P1 one terminal event, last",
            types[-1] in TERMINALS and sum(one in TERMINALS for one in types) == 1,
            (name, types[-3:]),
        )
        open_ = set()
        for event in parsed:
            for kind, key in BRACKETS.items():
                if event["type"] == f"{kind}_START":
                    open_.add((kind, event[key]))
                elif event["type"] == f"{kind}_END":
                    open_.discard((kind, event[key]))
        report.expect("P2 nothing left open", not open_, (name, sorted(open_)))
    for line in seen:
        kept = runs.get((line["thread"], line["run"]), {}).get(line["sequence"])
        report.expect(
            "P3 what was seen is still there, byte for byte",
            kept == line["data"],
            (line["thread"], line["run"], line["sequence"], line["data"], kept),
        )


def check_upstream(report, upstream, acknowledged, losses, asked_anew):
    """`asked_anew`: threads in which a run that answers what was lost asks for the message before it again."""
    answered_at = {}
    for line in acknowledged:
        for call in line["answers"]:
            answered_at.setdefault(call, (line["n"], f"answer to {call} of {line['thread']}"))
    asked_for = collections.Counter()
    for line in upstream:
        messages = [one for one in line["messages"] if one["role"] != "system"]
        waiting = []
        valid = True
        for message in messages:
            if message["role"] == "tool":
                valid = valid and bool(waiting) and message["tool_call_id"] == waiting.pop(0)
                known = answered_at.get(message["tool_call_id"])
                if known and known[0] < line["n"]:
                    report.expect(
                        "P4 an acknowledged answer reaches the model", message["content"] == known[1], message
                    )
                continue
            valid = valid and not waiting
            for call in message.get("tool_calls") or []:
                waiting.append(call["id"])
                valid = valid and isinstance(json.loads(call["function"]["arguments"]), dict)
        report.expect("P5 every call answered, in order, next to it", valid and not waiting, messages)
        if losses.lost_run(line) or line["thread"] in asked_anew:
            continue  # Who sends the question again cannot be told that it was asked.
        last = messages[-1]
        asked_for[last["role"], last["content"], last.get("tool_call_id")] += 1
    for what, count in asked_for.items():
        report.expect("P6 the model is asked once for the same", count == 1, (what, count))


def check_executions(report, executed, asked, lossy):
    """With each number of answers once. An answer whose record was lost may be given again."""
    may_repeat = {line["call"] for line in asked if line["thread"] in lossy}
    times = collections.Counter((line["toolCallId"], len(line.get("inputs") or [])) for line in executed)
    for (call, number), count in times.items():
        report.expect("a server tool is executed once", count == 1 or call in may_repeat, (call, number, count))


def check_store(report, database, acknowledged, lossy, losses, seen):
    responses = collections.Counter()
    stored_runs = collections.Counter()
    threads = check_users.threads_in(database)
    for thread, data in database.execute("SELECT thread, data FROM session_events WHERE type = 'tool.response'"):
        responses[threads[thread], json.loads(data)["toolCallId"]] += 1
    contents = collections.defaultdict(list)
    for thread, text in database.execute("SELECT thread, message FROM messages"):
        message = json.loads(text)
        if message["role"] == "tool":
            contents[threads[thread], message["toolCallId"]].append(message["content"])
    statuses = {}
    for thread, run, status in database.execute("SELECT thread, run_id, status FROM runs"):
        stored_runs[threads[thread], run] += 1
        statuses[threads[thread], run] = status
    for line in acknowledged:
        name = (line["thread"], line["run"])
        if losses.lost_shown_run(line):
            continue
        report.expect("P6 one record for a run", stored_runs[name] == 1, name)
        report.expect("every run has ended", statuses.get(name) not in (None, "active"), name)
        for call in line["answers"] if line["thread"] not in lossy else []:
            key = (line["thread"], call)
            report.expect("P4 one tool.response for an answer", responses[key] == 1, (key, responses[key]))
            report.expect(
                "P4 the answer is stored once", contents[key] == [f"answer to {call} of {line['thread']}"], key
            )
    # What a client saw of a message is in the thread, also of runs that a crash has ended.
    said = collections.defaultdict(str)
    highest = collections.Counter()
    for line in seen:
        event = json.loads(line["data"])
        name = (line["thread"], line["run"])
        if line["sequence"] > highest[name]:
            highest[name] = line["sequence"]
            if event["type"] == "TEXT_MESSAGE_CONTENT":
                said[line["thread"], event["messageId"]] += event["delta"]
    kept = {}
    for thread, text in database.execute("SELECT thread, message FROM messages"):
        message = json.loads(text)
        if message["role"] != "activity":  # The note of a failed run has the id of the message that it is about.
            kept[threads[thread], message["id"]] = message.get("content") or ""
    for key, text in said.items():
        report.expect("text that was seen is in the conversation", kept.get(key) == text, (key, text, kept.get(key)))


def check_steering(report, steered, runs, database, losses):
    threads = check_users.threads_in(database)
    stored = collections.Counter()
    for thread, text in database.execute("SELECT thread, message FROM messages"):
        message = json.loads(text)
        stored[threads[thread], message["id"]] += message["role"] == "user"  # A failed run leaves a note with that id.
    for line in steered:
        if line["taken"] and losses.lost_number(line, line["seq"]):
            continue
        count = stored[line["thread"], line["id"]]
        report.expect("a message for an active run is taken once or returned", count == int(line["taken"]), (line, count))
        if not line["taken"]:
            continue
        event = json.loads(runs.get((line["thread"], line["run"]), {}).get(line["seq"], "{}"))
        shown = any(one["id"] == line["id"] for one in event.get("messages", []))
        # A gateway that was killed has stored the message, and its run ends before it is shown.
        report.expect("a taken message is shown at its number", shown or event.get("type") == "RUN_ERROR", (line, event))


def main():
    folder = pathlib.Path(sys.argv[1])
    report = Report()
    seen, final = lines(folder, "seen"), lines(folder, "final")
    acknowledged = lines(folder, "acknowledged")
    runs = runs_of(final)
    losses = check_peers.Losses({name: lines(folder, name) for name in ("faults", "stored", "calls")}, runs)
    all_seen, seen = seen, [line for line in seen if not losses.has(line)]
    upstream = lines(folder, "upstream")
    # A call whose hand-off was lost has been answered with an error, and takes no other answer.
    threads = losses.threads(all_seen, acknowledged + upstream)
    check_streams(report, seen, runs)
    questions = {name: lines(folder, name) for name in ("asked", "given", "executed")}
    may_lack = threads | losses.threads_in_doubt(line for notes in questions.values() for line in notes)
    check_upstream(report, upstream, [line for line in acknowledged if line["thread"] not in threads], losses,
                   may_lack & {line["thread"] for line in questions["asked"]})
    check_executions(report, questions["executed"], questions["asked"], may_lack)
    database = sqlite3.connect(folder / "agui.db")
    report.expect(
        "the store is not damaged",
        database.execute("PRAGMA integrity_check").fetchone() == ("ok",),
        "integrity_check",
    )
    touched = {check_peers.name_of(line) for line in all_seen if losses.has(line)}
    check_store(report, database, acknowledged, threads, losses,
                [line for line in seen if check_peers.name_of(line) not in touched])
    check_questions.check(report, questions, database, may_lack)
    steered = lines(folder, "steered")
    check_steering(report, steered, runs, database, losses)
    begun = lines(folder, "begun")
    if begun:
        notes = {name: lines(folder, name) for name in ("looks", "stopping", "witnessed")}
        notes.update(begun=begun, seen=all_seen, final=final, upstream=upstream, executed=questions["executed"])
        check_users.check(report, notes, runs, database)
    settings = lines(folder, "settings")
    if settings:
        names = ("witnessed", "calls", "faults", "links", "ended", "stops", "acknowledged", "cursors", "gone", "ready")
        notes = {name: lines(folder, name) for name in names}
        check_peers.check(report, settings[0], {**notes, "seen": seen, "final": final}, runs, database, losses, all_seen)
    report.expect("the driver noticed nothing", not (found := lines(folder, "violations")), found)
    return report.finish([
        "P1 RUN_STARTED of the request first",
        "P1 one terminal event, last",
        "P2 nothing left open",
        "P3 what was seen is still there, byte for byte",
        "P4 an acknowledged answer reaches the model",
        "P4 one tool.response for an answer",
        "P4 the answer is stored once",
        "P5 every call answered, in order, next to it",
        "P6 the model is asked once for the same",
        "P6 one record for a run",
        "P8 numbers without a gap",
        "every run has ended",
        "a server tool is executed once",
        "text that was seen is in the conversation",
        "the store is not damaged",
        "the driver noticed nothing",
        # A short campaign may ask nothing.
        *(one for one in check_questions.CHECKS if report.subjects[one] or len(questions["asked"]) > 20),
        *(["a message for an active run is taken once or returned"] if steered else []),
        *(check_users.CHECKS if begun else []),
        *(one for one in check_peers.CHECKS if settings and (settings[0]["complete"] or report.subjects[one])),
    ])


if __name__ == "__main__":
    sys.exit(main())
