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

ANSWER = "answer to c1 of t"


def event(type_, **members):
    return json.dumps({"type": type_, **members})


def stream(thread, run, *middle, end="RUN_FINISHED"):
    events = [event("RUN_STARTED", threadId=thread, runId=run), *middle, event(end, threadId=thread, runId=run)]
    return [{"thread": thread, "run": run, "sequence": i + 1, "data": data} for i, data in enumerate(events)]


class Folder:
    """What one hand-off and one server tool leave behind."""

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
            "executed": [{"toolCallId": "c9"}],
            "upstream": [
                {"messages": [user]},
                {"messages": [
                    user,
                    {"role": "assistant", "content": "Look", "tool_calls": [call]},
                    {"role": "tool", "tool_call_id": "c1", "content": ANSWER},
                ]},
            ],
            "violations": [],
        }
        self.runs = [("r", "finished"), ("ra", "finished")]
        self.messages = [
            {"id": "m1", "role": "assistant", "content": "Look"},
            {"id": "a1", "role": "tool", "toolCallId": "c1", "content": ANSWER},
        ]
        self.responses = ["c1"]

    def failed_checks(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            number = 0
            for file, content in self.files.items():
                with (folder / f"{file}.jsonl").open("w", encoding="utf-8") as out:
                    for line in content:
                        number += 1
                        out.write(json.dumps({"n": number, **line}) + "\n")
            database = sqlite3.connect(folder / "agui.db")
            database.executescript(
                "CREATE TABLE threads (id, thread_id); INSERT INTO threads VALUES (1, 't');"
                "CREATE TABLE session_events (thread, type, data); CREATE TABLE messages (thread, message);"
                "CREATE TABLE runs (thread, run_id, status);"
            )
            database.executemany("INSERT INTO runs VALUES (1, ?, ?)", self.runs)
            database.executemany("INSERT INTO messages VALUES (1, ?)", [(json.dumps(one),) for one in self.messages])
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
    ("a server tool is executed once", lambda folder: folder.files["executed"].append({"toolCallId": "c9"})),
    ("text that was seen is in the conversation", lambda folder: folder.messages.pop(0)),
    ("the driver noticed nothing", lambda folder: folder.files["violations"].append({"what": "gap"})),
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

    def test_an_empty_folder_fails(self):
        folder = Folder()
        folder.files = {}
        self.assertIn("P1 one terminal event, last", folder.failed_checks())


if __name__ == "__main__":
    unittest.main()
