"""What must hold when the clients are those of two users with equal ids; a part of check.py. It reads, besides:

  begun     {thread}                                         a thread whose user begins it
  looks     {user, what, status, events, marks, thread?, run?, ids?, text?}
                                                             what a request of a user has shown; `marks`: whose threads are
                                                             named in it, `events`: of a run, `ids`: of a list; `thread` may be
                                                             one of the other user
  stopping  {thread, run}                                    the run's own client is about to stop it

A thread is named USER:THREAD, and so it is in all that clients, models and tools say about it: its mark.
"""

import collections
import json
import re

SHOWN = "a user is shown nothing of the other one"
ASKED = "a model and a tool are asked for one user at a time"
KEPT = "the store has what a user said in that user's threads"
LISTED = "a list has the user's own threads, each once"
UNKNOWN = "a thread of the other user is like one that does not exist"
STOPPED = "a run is stopped by its own user"
PARTS = "a part is shown by its own link alone"
CHECKS = [SHOWN, ASKED, KEPT, LISTED, UNKNOWN, STOPPED, PARTS]

MARK = re.compile(r"\b(ada|bob):(?:t|own-)")


def user_of(thread):
    return thread.split(":")[0]


def id_of(thread):
    return thread.split(":", 1)[-1]


def marks_in(text):
    return set(MARK.findall(text))


def threads_in(database):
    """The campaign's names of the stored threads, by number."""
    rows = database.execute("SELECT id, principal, thread_id FROM threads")
    return {number: f"{principal}:{thread}" if principal else thread for number, principal, thread in rows}


def check_shown(report, notes):
    for name in ("seen", "witnessed", "final"):
        for line in notes[name]:
            if found := marks_in(line["data"]):
                report.expect(SHOWN, found == {user_of(line["thread"])}, (name, line))
    for line in notes["looks"]:
        if line["marks"]:
            report.expect(SHOWN, line["marks"] == [line["user"]], line)


def check_asked(report, notes):
    for line in notes["upstream"] + notes["executed"]:
        told = json.dumps(line.get("messages") or line.get("inputs") or [])
        report.expect(ASKED, marks_in(told) <= {user_of(line["thread"])}, line)


def check_kept(report, database):
    threads = threads_in(database)
    for thread, message in database.execute("SELECT thread, message FROM messages"):
        report.expect(KEPT, marks_in(message) <= {user_of(threads[thread])}, (threads[thread], message))


def check_lists(report, notes):
    begun = collections.defaultdict(set)
    for line in notes["begun"]:
        begun[user_of(line["thread"])].add(id_of(line["thread"]))
    for line in notes["looks"]:
        if "ids" in line:
            foreign = set(line["ids"]) - begun[line["user"]]
            report.expect(LISTED, not foreign and len(set(line["ids"])) == len(line["ids"]), (line["user"], foreign))


def check_unknown(report, notes):
    """Of ids that only the other user has."""
    for line in notes["looks"]:
        thread = line.get("thread", "")
        if user_of(thread) == line["user"] or not id_of(thread).startswith("own-"):
            continue
        if line["what"] == "attach":
            report.expect(UNKNOWN, line["status"] not in (200, 204, 410) and not line["events"], line)
        elif "text" in line:
            effect = re.search(r'"(cancelled|stopped|taken)":true|"messages":\[\{', line["text"])
            report.expect(UNKNOWN, not effect, line)


def check_stopped(report, notes, runs):
    stopped = {(line["thread"], line["run"]) for line in notes["stopping"]}
    for name, events in runs.items():
        last = json.loads(events[max(events)])
        if (last.get("outcome") or {}).get("type") == "cancelled":
            report.expect(STOPPED, name in stopped, (name, last))


def check_parts(report, notes):
    for line in notes["looks"]:
        if line["what"] == "own part" and line["status"] == 200:
            report.expect(PARTS, line["marks"] == [user_of(line["thread"])], line)
        elif line["what"] == "part":
            report.expect(PARTS, line["status"] != 200, line)


def check(report, notes, runs, database):
    check_shown(report, notes)
    check_asked(report, notes)
    check_kept(report, database)
    check_lists(report, notes)
    check_unknown(report, notes)
    check_stopped(report, notes, runs)
    check_parts(report, notes)
