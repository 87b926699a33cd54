#!/usr/bin/env python3
"""The checker must find what it is there for: a sound folder passes, and each fault put into it fails its check."""

import contextlib
import io
import json
import pathlib
import sqlite3
import sys
import tempfile
import unittest

import check
import check_peers
import check_questions
import check_users

ANSWER = "answer to c1 of t"


def event(type_, **members):
    return json.dumps({"type": type_, **members})


def stream(thread, run, *middle, end="RUN_FINISHED"):
    events = [event("RUN_STARTED", threadId=thread, runId=run), *middle, event(end, threadId=thread, runId=run)]
    return [{"thread": thread, "run": run, "sequence": i + 1, "data": data} for i, data in enumerate(events)]


def question(number):
    return {"id": "a1", "role": "activity", "activityType": "agui-gateway.question",
            "content": {"toolCallId": "c5", "message": f"question {number} of c5"}}


def answer(text):
    return {"id": "a1", "role": "activity", "activityType": "agui-gateway.answer",
            "content": {"toolCallId": "c5", "answer": {"answer": text}}}


class Folder:
    """What one hand-off, one server tool, and one with an approval and two questions leave behind. The answer to the first
    question was given again, in another way."""

    def __init__(self):
        first = stream(
            "t", "r",
            event("TEXT_MESSAGE_START", messageId="m1"),
            event("TEXT_MESSAGE_CONTENT", messageId="m1", delta="Look"),
            event("TEXT_MESSAGE_END", messageId="m1"),
            event("TOOL_CALL_START", toolCallId="c1"),
            event("TOOL_CALL_END", toolCallId="c1"),
        )
        second = stream("t", "ra")
        user = {"role": "user", "content": "go"}
        call = {"id": "c1", "function": {"name": "paint", "arguments": "{}"}}
        self.files = {
            "seen": first + second,
            "final": first + second,
            "acknowledged": [{"thread": "t", "run": "r", "answers": []}, {"thread": "t", "run": "ra", "answers": ["c1"]}],
            "executed": [{"thread": "t", "toolCallId": "c9"}, {"thread": "t", "toolCallId": "c5"}, *(
                {"thread": "t", "toolCallId": "c5", "inputs": [{"answer": one} for one in given]}
                for given in (["one"], ["one", "two"]))],
            "asked": [
                {"thread": "t", "interrupt": "i0", "call": "c5", "kind": "approval", "message": "Allow it?"},
                *({"thread": "t", "interrupt": f"i{i}", "call": "c5", "kind": "input", "message": f"question {i} of c5"}
                  for i in (1, 2)),
            ],
            "given": [{"thread": "t", "status": "resolved", "end": "success", **line} for line in (
                {"run": "rb1", "interruptId": "i0", "payload": {"approved": True, "editedArgs": {"by": "marker:t/rb1"}}},
                {"run": "rb2", "interruptId": "i1", "payload": {"answer": "one"}},
                {"run": "ro3", "interruptId": "i1", "payload": {"answer": "other"}},
                {"run": "rb3", "interruptId": "i2", "payload": {"answer": "two"}})],
            "upstream": [
                {"thread": "t", "run": "r", "messages": [user]},
                {"thread": "t", "run": "ra", "messages": [
                    user,
                    {"role": "assistant", "content": "Look", "tool_calls": [call]},
                    {"role": "tool", "tool_call_id": "c1", "content": ANSWER},
                ]},
            ],
            "violations": [],
        }
        self.threads = [(1, "", "t"), (2, "", "s"), (3, "", "v")]
        self.runs = [("r", "finished"), ("ra", "finished")]
        self.messages = [
            {"id": "m1", "role": "assistant", "content": "Look"},
            {"id": "a1", "role": "tool", "toolCallId": "c1", "content": ANSWER},
            question(1), answer("one"), question(2), answer("two"),
            {"id": "a5", "role": "tool", "toolCallId": "c5", "content": "done", "forModel": 'changed to {"by":"marker:t/rb1"}'},
        ]
        self.calls = [["c1", "external", "answered"], ["c9", "server", "answered"], ["c5", "server", "answered"]]
        self.responses = ["c1"]
        self.other_thread = {"runs": [], "messages": []}
        self.third_thread = []
        self.leases = []

    def failed_checks(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            number = 0
            for file, content in self.files.items():
                with (folder / f"{file}.jsonl").open("w", encoding="utf-8") as out:
                    for line in content:
                        number += 1
                        out.write(json.dumps({"n": number, "t": number, **line}) + "\n")
            database = sqlite3.connect(folder / "agui.db")
            database.executescript(
                "CREATE TABLE threads (id, principal, thread_id);"
                "CREATE TABLE session_events (thread, type, data); CREATE TABLE messages (thread, message);"
                "CREATE TABLE calls (thread, call_id, owner, status);"
                "CREATE TABLE runs (thread, run_id, status); CREATE TABLE leases (thread_id, run_id);"
            )
            database.executemany("INSERT INTO threads VALUES (?, ?, ?)", self.threads)
            database.executemany("INSERT INTO runs VALUES (1, ?, ?)", self.runs)
            database.executemany("INSERT INTO calls VALUES (1, ?, ?, ?)", self.calls)
            database.executemany("INSERT INTO messages VALUES (1, ?)", [(json.dumps(one),) for one in self.messages])
            database.executemany("INSERT INTO runs VALUES (2, ?, ?)", self.other_thread["runs"])
            database.executemany("INSERT INTO runs VALUES (3, ?, ?)", self.third_thread)
            database.executemany(
                "INSERT INTO messages VALUES (2, ?)", [(json.dumps(one),) for one in self.other_thread["messages"]]
            )
            database.executemany("INSERT INTO leases VALUES (?, ?)", self.leases)
            database.executemany(
                "INSERT INTO session_events VALUES (1, 'tool.response', ?)",
                [(json.dumps({"toolCallId": one}),) for one in self.responses],
            )
            database.commit()
            database.close()
            output = io.StringIO()
            sys.argv = ["check.py", name]
            with contextlib.redirect_stdout(output):
                status = check.main()
            found = [line.split("FAILED ")[1].split(":")[0] for line in output.getvalue().splitlines() if "FAILED" in line]
            assert (status == 0) == (not found)
            return found


class UsersFolder(Folder):
    """The same of the user ada, and a thread of the user bob with the same id, whose run was stopped. Each has looked at the
    thread of that id; bob has tried to see a third one of ada, which has another id."""

    def __init__(self):
        super().__init__()
        self.threads = [(1, "ada", "t"), (2, "bob", "t"), (3, "ada", "own-ada-0-1")]
        for lines in self.files.values():
            for line in lines:
                line["thread"] = "ada:t"
        self.files["upstream"][1]["messages"][2]["content"] = self.messages[1]["content"] = "answer to c1 of ada:t"
        text = (event("TEXT_MESSAGE_START", messageId="mb"), event("TEXT_MESSAGE_CONTENT", messageId="mb", delta="To bob:t."),
                event("TEXT_MESSAGE_END", messageId="mb"))
        bob = [{**line, "thread": "bob:t"} for line in stream("t", "r", *text)]
        bob[-1]["data"] = event("RUN_FINISHED", threadId="t", runId="r", outcome={"type": "cancelled"})
        own = [{**line, "thread": "ada:own-ada-0-1"} for line in stream("own-ada-0-1", "r")]
        self.files["seen"] += bob + own
        self.files["final"] += bob + own
        self.files["witnessed"] = bob
        self.files["acknowledged"] += [{"thread": one, "run": "r", "answers": []} for one in ("bob:t", "ada:own-ada-0-1")]
        self.files["upstream"] += [{"thread": "bob:t", "run": "r", "messages": [{"role": "user", "content": "of bob:t"}]}]
        self.files["begun"] = [{"thread": one} for one in ("ada:t", "bob:t", "ada:own-ada-0-1")]
        self.files["stopping"] = [{"thread": "bob:t", "run": "r"}]
        look = {"user": "bob", "status": 200, "events": 0, "marks": []}
        foreign = {**look, "thread": "ada:own-ada-0-1", "run": "r"}
        self.files["looks"] = [
            {**look, "what": "list", "marks": ["bob"], "ids": ["t"]},
            {**look, "what": "messages", "marks": ["bob"], "thread": "ada:t", "text": '{"messages":[{}]}'},
            {**foreign, "what": "attach", "status": 404},
            {**foreign, "what": "stop", "text": '{"cancelled":false}'},
            {**foreign, "what": "messages", "text": '{"messages":[]}'},
            {**look, "what": "own part", "thread": "bob:t", "marks": ["bob"]},
            {**look, "what": "part", "thread": "bob:t", "status": 404},
        ]
        self.other_thread = {"runs": [("r", "finished")], "messages": [{"id": "mb", "role": "assistant", "content": "To bob:t."}]}
        self.third_thread = [("r", "finished")]


class PeersFolder(Folder):
    """The same at two gateways; besides, the first one is stopped for longer than its lease while it has the run x of
    another thread. The second one ends that run and begins the next one, y, while the first one's model still speaks. The
    first one's reader gets that end when it wakes up. Then a standby takes the server's place that lacks the end of the run p
    of a third thread, and its run q: a reader that has seen p's events is told so, and reads from the begin."""

    def __init__(self):
        super().__init__()
        text = (event("TEXT_MESSAGE_START", messageId="mx"), event("TEXT_MESSAGE_CONTENT", messageId="mx", delta="Hello"))
        x = stream("s", "x", *text, event("TEXT_MESSAGE_END", messageId="mx"), end="RUN_ERROR")
        x[-1]["data"] = event("RUN_ERROR", code="internal")
        y = stream("s", "y")
        for line in self.files["seen"]:
            line.update(by="g1.1" if line["run"] == "ra" else "g0.1", link=1)
        seen_x = [
            {**line, "by": "g0.1" if line["sequence"] < 4 else "g1.1", "link": 2 if line["sequence"] < 4 else 3,
             "n": 90 + line["sequence"] if line["sequence"] < 4 else 140 + line["sequence"],
             "t": 900 if line["sequence"] < 4 else 8000}
            for line in x
        ]
        seen_y = [{**line, "by": "g1.1", "link": 4, "n": 160 + line["sequence"], "t": 8600} for line in y]
        late = [{**line, "by": "g0.1", "link": 2, "n": 201 + line["sequence"], "t": 9050} for line in x[3:]]
        self.files["seen"] += seen_x + seen_y + late
        everything = [{**line} for line in self.files["final"] + x + y]
        self.files["final"] = [{**line, "by": by} for by in ("g0.1", "g1.1") for line in everything]
        self.files["acknowledged"] += [{"thread": "s", "run": run, "answers": []} for run in ("x", "y")]
        self.other_thread = {
            "runs": [("x", "failed"), ("y", "finished")],
            "messages": [{"id": "mx", "role": "assistant", "content": "Hello"}],
        }
        by_x = {"thread": "s", "run": "x", "by": "g0.1"}
        by_y = {"thread": "s", "run": "y", "by": "g1.1"}
        self.files.update(
            settings=[{"lease": 6, "complete": True}],
            witnessed=[{**line, "by": "g1.1"} for line in x],
            calls=[
                {"what": "begin", "n": 80, "t": 800, **by_x},
                {"what": "begin", "n": 150, "t": 8500, **by_y},
                {"what": "end", "n": 155, "t": 8600, **by_y},
                {"what": "end", "n": 210, "t": 9100, **by_x},
            ],
            faults=[
                {"fault": 0, "kind": "blink", "what": "begin", "n": 84, "t": 840, "by": "g0.1", "open": [{**by_x, "said": ""}]},
                {"fault": 0, "kind": "blink", "what": "end", "n": 85, "t": 850, "by": "g0.1"},
                {"fault": 1, "kind": "stop", "what": "begin", "n": 100, "t": 1000, "by": "g0.1",
                 "open": [{**by_x, "said": "Hello you"}]},
                {"fault": 1, "kind": "stop", "what": "end", "n": 200, "t": 9000, "by": "g0.1"},
            ],
            links=[
                {"what": "opened", "link": 2, "n": 82, "t": 820, **by_x},
                {"what": "opened", "link": 3, "n": 110, "t": 3000, **by_x, "by": "g1.1"},
                {"what": "closed", "link": 3, "n": 149, "t": 8000, **by_x, "by": "g1.1"},
                {"what": "closed", "link": 2, "n": 220, "t": 9200, **by_x},
            ],
            ended=[{"fault": 1, "kind": "stop", "thread": "s", "run": "x", "ms": 7000}],
            stops=[{"n": 50, "t": 500, "thread": "s", "run": "x", "holder": "g1.1", "by": "g1.2", "status": 200,
                    "cancelled": True, "ms": 20}],
        )
        for line in self.files["seen"]:
            line["reader"] = line["link"]
        self.lose_some()

    def lose_some(self):
        text = (event("TEXT_MESSAGE_START", messageId="mp"), event("TEXT_MESSAGE_END", messageId="mp"))
        p = stream("v", "p", *text, end="RUN_ERROR")
        p[-1]["data"] = event("RUN_ERROR", code="internal")
        said = {**p[2], "data": event("TEXT_MESSAGE_CONTENT", messageId="mp", delta="Lost")}
        q = stream("v", "q")[0]
        before = [*p[:2], said, {**said, "sequence": 4}, q]
        self.files["seen"] += [
            *({**line, "by": "g1.1", "link": 5, "reader": 5, "n": 280 + i, "t": 9800} for i, line in enumerate(before)),
            *({**line, "by": "g1.1", "link": 6, "reader": 6, "n": 330 + i, "t": 16_500} for i, line in enumerate(p)),
        ]
        self.files["final"] += [{**line, "by": by} for by in ("g0.1", "g1.1") for line in p]
        self.third_thread = [("p", "failed")]
        self.files["acknowledged"] += [
            {"n": 279, "t": 9800, "thread": "v", "run": run, "answers": []} for run in ("p", "q")]
        by_p, by_q = ({"thread": "v", "run": run, "by": "g1.1"} for run in ("p", "q"))
        self.files["calls"] += [
            {"what": "begin", "n": 276, "t": 9700, **by_p},
            {"what": "end", "n": 277, "t": 9750, **by_p},
            {"what": "begin", "n": 278, "t": 9750, **by_q},
        ]
        self.files["upstream"] += [{"n": 278, "t": 9750, **by_q, "messages": [{"role": "user", "content": "q"}]}]
        lagging = {"fault": 2, "kind": check_peers.LAGGING}
        self.files["faults"] += [
            {**lagging, "what": "begin", "n": 300, "t": 15_000, "open": []},
            {**lagging, "what": "end", "n": 310, "t": 16_000},
        ]
        self.files.update(
            stored=[{"n": 309, "t": 15_900, "fault": 2, "cut": 14_000, "runs": {"t/r": 7, "t/ra": 2, "s/x": 5, "s/y": 2, "v/p": 2}}],
            ready=[{"n": 311, "t": 16_100, **lagging, "by": "g1.1", "ms": 100}],
            gone=[{"n": 320, "t": 16_200, "thread": "v", "run": "p", "after": 4, "by": "g0.1", "status": 204}],
            cursors=[
                {"n": 400, "t": 20_000, "thread": "v", "run": "p", "by": "g0.1", "whole": 200, "after": 5, "status": 410},
                {"n": 401, "t": 20_000, "thread": "v", "run": "q", "by": "g0.1", "whole": 404, "after": 1, "status": 404},
            ],
        )


def final(change):
    def apply(folder):
        folder.files["final"] = change([dict(line) for line in folder.files["final"]])
    return apply


FAULTS = [
    ("P1 RUN_STARTED of the request first", final(lambda all_: [{**line, "data": line["data"].replace('"runId": "r"', '"runId": "x"')} for line in all_])),
    ("P1 one terminal event, last", final(lambda all_: all_[:6] + all_[7:])),
    ("P1 one terminal event, last", final(lambda all_: [*all_, {**all_[-1], "sequence": 3}])),
    ("P2 nothing left open", final(lambda all_: [line for line in all_ if "TOOL_CALL_END" not in line["data"]])),
    ("P3 what was seen is still there, byte for byte", final(lambda all_: [{**line, "data": line["data"].replace("Look", "look")} for line in all_])),
    ("P4 an acknowledged answer reaches the model", lambda folder: (
        folder.files["upstream"][1]["messages"][2].update(content="lost"),
        folder.files.update({"upstream": folder.files.pop("upstream")}))),
    ("P4 one tool.response for an answer", lambda folder: folder.responses.append("c1")),
    ("P4 one tool.response for an answer", lambda folder: folder.responses.clear()),
    ("P4 the answer is stored once", lambda folder: folder.messages.append(folder.messages[1])),
    ("P5 every call answered, in order, next to it", lambda folder: folder.files["upstream"][1]["messages"].pop()),
    ("P5 every call answered, in order, next to it", lambda folder: folder.files["upstream"][1]["messages"].append({"role": "tool", "tool_call_id": "c1", "content": ANSWER})),
    ("P6 the model is asked once for the same", lambda folder: folder.files["upstream"].append(folder.files["upstream"][0])),
    ("P6 one record for a run", lambda folder: folder.runs.append(("r", "finished"))),
    ("P8 numbers without a gap", final(lambda all_: all_[:2] + all_[3:])),
    ("every run has ended", lambda folder: folder.runs.__setitem__(0, ("r", "active"))),
    ("a server tool is executed once", lambda folder: folder.files["executed"].append(folder.files["executed"][0])),
    ("a server tool is executed once", lambda folder: folder.files["executed"].append(folder.files["executed"][-1])),
    (check_questions.STORED, lambda folder: folder.messages.append(answer("two"))),
    (check_questions.STORED, lambda folder: folder.messages.remove(answer("one"))),
    (check_questions.STORED, lambda folder: folder.messages.pop()),
    (check_questions.STORED, lambda folder: folder.messages.append({**folder.messages[-1], "id": "a6"})),
    # Called once too often, not at all, with an answer too many, and without a record.
    (check_questions.CALLED, lambda folder: folder.files["executed"].append(folder.files["executed"][-1])),
    (check_questions.CALLED, lambda folder: folder.files["executed"].pop()),
    (check_questions.CALLED, lambda folder: folder.files["executed"].pop(1)),
    (check_questions.CALLED, lambda folder: folder.messages.remove(question(2))),
    (check_questions.CALLED, lambda folder: folder.calls.pop()),
    (check_questions.CALLED, lambda folder: folder.calls.__setitem__(2, ["c5", "server", "cancelled"])),
    # The answer to another question, and one that came too late.
    (check_questions.OWN, lambda folder: folder.files["executed"][-1].update(inputs=[{"answer": "two"}, {"answer": "one"}])),
    (check_questions.OWN, lambda folder: folder.files["executed"][-1]["inputs"].__setitem__(0, {"answer": "other"})),
    (check_questions.SETTLED, lambda folder: folder.calls.__setitem__(2, ["c5", "server", "asked"])),
    (check_questions.SETTLED, lambda folder: folder.calls.__setitem__(2, ["c5", "server", "executing"])),
    ("text that was seen is in the conversation", lambda folder: folder.messages.pop(0)),
    ("the driver noticed nothing", lambda folder: folder.files["violations"].append({"what": "gap"})),
]


def line_of(file, index, **changed):
    return lambda folder: folder.files[file][index].update(changed)


def without_the_stop(folder):
    del folder.files["faults"][2:]
    folder.files["ended"].clear()


PEER_FAULTS = [
    # The second gateway asks before the first one has lost the run, or the first one was not stopped long enough.
    (check_peers.ONE_CALL, line_of("calls", 1, t=2000)),
    (check_peers.ONE_CALL, line_of("faults", 3, t=5000)),
    # A call that has no end.
    (check_peers.ONE_CALL, without_the_stop),
    (check_peers.WITNESSED, line_of("witnessed", 1, data=event("TEXT_MESSAGE_START", messageId="other"))),
    (check_peers.STITCHED, lambda folder: folder.files["seen"].remove(next(
        line for line in folder.files["seen"] if line["run"] == "x" and line["sequence"] == 3))),
    (check_peers.SAME, lambda folder: folder.files["final"].pop()),
    (check_peers.SAME, line_of("final", -1, data=event("RUN_FINISHED"))),
    (check_peers.SAME, lambda folder: folder.files.update(
        final=[line for line in folder.files["final"] if line["by"] == "g0.1"])),
    (check_peers.DROPPED, lambda folder: folder.files["faults"][2]["open"][0].update(said="Hell")),
    (check_peers.STORED, lambda folder: folder.files["seen"].append(
        {**folder.files["witnessed"][3], "by": "g0.1", "link": 2, "n": 205, "t": 9050, "data": event("TEXT_MESSAGE_END", messageId="other")})),
    (check_peers.IN_TIME, line_of("ended", 0, ms=11_500)),
    # Only a short stop, or the end of another gateway, explains the loss.
    (check_peers.NEEDED, without_the_stop),
    (check_peers.NEEDED, lambda folder: [one.update(by="g1.1") for one in folder.files["faults"]]),
    (check_peers.STOPPED, line_of("stops", 0, ms=10_500)),
    # A reader that has seen what was lost gets what is there now.
    (check_peers.ONE_CONTENT, lambda folder: folder.files["seen"].append(
        {**folder.files["seen"][-1], "n": 340, "sequence": 3, "reader": 5})),
    # Or goes on after it.
    (check_peers.ONE_HISTORY, lambda folder: folder.files["seen"].append(
        {**folder.files["seen"][-1], "n": 340, "reader": 5})),
    (check_peers.EXPIRED, line_of("cursors", 0, status=204)),
    (check_peers.EXPIRED, line_of("cursors", 1, status=200)),
    (check_peers.EXPLAINED, line_of("gone", 0, thread="t")),
    (check_peers.READY, line_of("ready", 0, ms=16_000)),
    (check_peers.HELD, lambda folder: folder.leases.append(("s", "y"))),
    (check_peers.HELD, lambda folder: folder.other_thread["runs"].append(("z", "active"))),
]


USER_FAULTS = [
    (check_users.SHOWN, line_of("seen", -4, data=event("TEXT_MESSAGE_CONTENT", messageId="mb", delta="To ada:t."))),
    (check_users.SHOWN, line_of("witnessed", 2, data=event("TEXT_MESSAGE_CONTENT", messageId="mb", delta="To ada:t."))),
    (check_users.SHOWN, line_of("looks", 1, marks=["ada", "bob"])),
    (check_users.SHOWN, line_of("looks", 4, marks=["ada"])),
    (check_users.ASKED, lambda folder: folder.files["upstream"][-1]["messages"].append({"role": "user", "content": "of ada:t"})),
    (check_users.ASKED, lambda folder: folder.files["executed"][0].update(inputs=[{"answer": "marker:bob:t/rb1"}])),
    (check_users.KEPT, lambda folder: folder.other_thread["messages"].append({"id": "x", "role": "user", "content": "of ada:t"})),
    # A thread that the other user has begun, and one that is there twice.
    (check_users.LISTED, line_of("looks", 0, ids=["t", "own-ada-0-1"])),
    (check_users.LISTED, line_of("looks", 0, ids=["t", "t"])),
    (check_users.UNKNOWN, line_of("looks", 2, status=200, events=3)),
    (check_users.UNKNOWN, line_of("looks", 2, status=410)),
    (check_users.UNKNOWN, line_of("looks", 3, text='{"cancelled":true}')),
    (check_users.UNKNOWN, line_of("looks", 4, text='{"messages":[{"id":"m1"')),
    (check_users.STOPPED, line_of("stopping", 0, thread="ada:t")),
    (check_users.PARTS, line_of("looks", 5, marks=["ada"])),
    (check_users.PARTS, line_of("looks", 6, status=200)),
]


class Checker(unittest.TestCase):
    def test_a_sound_folder_passes(self):
        self.assertEqual(Folder().failed_checks(), [])

    def test_each_fault_fails_its_check(self):
        for check_name, put_in in FAULTS:
            with self.subTest(check_name):
                folder = Folder()
                put_in(folder)
                self.assertIn(check_name, folder.failed_checks())
        self.assertLessEqual(set(check_questions.CHECKS), {name for name, _ in FAULTS})

    def test_a_call_with_an_unknown_effect_may_have_been_made_or_not(self):
        for lines in (3, 4):
            folder = Folder()
            folder.calls[2][2] = "indeterminate"
            del folder.files["executed"][lines:]
            self.assertEqual(folder.failed_checks(), [])

    def test_a_sound_folder_of_two_users_passes(self):
        self.assertEqual(UsersFolder().failed_checks(), [])

    def test_each_fault_between_users_fails_its_check(self):
        for check_name, put_in in USER_FAULTS:
            with self.subTest(check_name):
                folder = UsersFolder()
                put_in(folder)
                self.assertIn(check_name, folder.failed_checks())
        self.assertEqual({name for name, _ in USER_FAULTS}, set(check_users.CHECKS))

    def test_a_sound_folder_of_two_gateways_passes(self):
        self.assertEqual(PeersFolder().failed_checks(), [])

    def test_each_fault_between_gateways_fails_its_check(self):
        for check_name, put_in in PEER_FAULTS:
            with self.subTest(check_name):
                folder = PeersFolder()
                put_in(folder)
                self.assertIn(check_name, folder.failed_checks())
        self.assertEqual({name for name, _ in PEER_FAULTS}, set(check_peers.CHECKS))

    def test_only_what_the_standby_lacked_may_be_lost(self):
        for check_name, file, index, changed in [
            # It had the event, the run was there already, or the run has begun after the loss.
            ("P3 what was seen is still there, byte for byte", "stored", 0, {"runs": {"t/r": 7, "t/ra": 2, "v/p": 3, "v/q": 0}}),
            ("P6 one record for a run", "stored", 0, {"runs": {"t/r": 7, "t/ra": 2, "v/p": 2, "v/q": 0}}),
            ("P6 one record for a run", "acknowledged", -1, {"n": 320, "t": 23_000}),
        ]:
            with self.subTest(check_name):
                folder = PeersFolder()
                folder.files[file][index].update(changed)
                self.assertIn(check_name, folder.failed_checks())

    def test_a_second_model_call_is_found_in_spite_of_a_loss(self):
        folder = PeersFolder()
        again = folder.files["upstream"][-1]
        folder.files["upstream"] += [{**again, "n": 350}]
        self.assertEqual(folder.failed_checks(), [])
        folder.files["upstream"] += [{**again, "n": 360}]
        self.assertEqual(folder.failed_checks(), ["P6 the model is asked once for the same"])

    def test_a_taken_message_may_be_lost_with_what_the_standby_lacked(self):
        folder = PeersFolder()
        steered = {"n": 279, "t": 9790, "thread": "v", "run": "p", "id": "s", "taken": True, "seq": 4}
        returned = {**steered, "id": "other", "taken": False}
        folder.files["steered"] = [steered, returned]
        self.assertEqual(folder.failed_checks(), [])
        for changed in [{"seq": 2}, {"n": 320, "t": 23_000}]:
            folder.files["steered"] = [{**steered, **changed}, returned]
            self.assertIn("a message for an active run is taken once or returned", folder.failed_checks())

    def test_an_answer_that_the_standby_lacked_may_be_given_again(self):
        folder = PeersFolder()
        again = {**folder.files["executed"][-1], "n": 340, "t": 30_000}
        folder.files["executed"].append(again)
        folder.files["upstream"].append({"thread": "s", "run": "y", "messages": [{"role": "user", "content": "y"}]})
        self.assertIn(check_questions.CALLED, folder.failed_checks())
        folder.files["executed"][-2].update(n=299, t=14_500)
        self.assertEqual(folder.failed_checks(), [])

    def test_an_empty_folder_fails(self):
        folder = Folder()
        folder.files = {}
        self.assertIn("P1 one terminal event, last", folder.failed_checks())


if __name__ == "__main__":
    unittest.main()
