"""What must hold besides when several gateways share a store; a part of check.py. Of peers.mjs it reads, besides:

  settings    {lease, complete}                          seconds; `complete`: each check must have something to look at
  seen, final have {by}, the process of a gateway that showed it: g0.3 is the third process of the first gateway
  calls       {what: begin|end, thread, run, by}         a model call
  faults      {fault, kind, what: begin|end, by?, open}  `open`: [{thread, run, said}], whose model calls are under way
  stored      {fault, runs, cut}                         {"THREAD/RUN": last number}: what the lagging standby of that fault had,
                                                         which got nothing after the time `cut`
  ready       {fault, kind, by, ms}                      a gateway was ready again so long after the fault
  gone        {thread, run, after?, by, status}          a client was told that what it had seen is not there
  cursors     {thread, run, by, whole, after, status}    after all: a read from the begin, and after the last number that anybody saw
  links       {what: opened|closed, link, by, thread, run}  a reader's connection; `seen` names it
  witnessed   {thread, run, sequence, by, data}          seen by those who follow the runs that a fault has cut
  ended       {fault, kind, thread, run, ms}                   such a run's end was seen so long after the fault
  stops       {thread, run, holder, by, status, cancelled, ms}
"""

import bisect
import collections
import json

ONE_CALL = "P7 one model call of a thread whose answer can take effect"
WITNESSED = "P3 what was seen through another gateway is in the log"
STITCHED = "streams that several gateways have shown are whole, byte for byte"
SAME = "every gateway shows the same"
DROPPED = "what the model says to a gateway that has lost the run is dropped"
STORED = "a gateway that has lost its runs shows of them only what is stored"
IN_TIME = "a run that was lost ends within the lease and 5 seconds"
NEEDED = "no run is lost unless its gateway or the server was away"
STOPPED = "a stop is answered within 10 seconds"
HELD = "no thread is held, no run is active"
ONE_HISTORY = "after a loss no reader goes on in another history than the one that it has seen"
ONE_CONTENT = "after a loss no number has two contents for one reader"
EXPIRED = "a number that the store does not have is 410, or 404 with the whole run"
EXPLAINED = "a client is told that something is gone only if the standby lacked it"
READY = "every gateway is ready again"
CHECKS = [ONE_CALL, WITNESSED, STITCHED, SAME, DROPPED, STORED, IN_TIME, NEEDED, STOPPED, HELD,
          ONE_HISTORY, ONE_CONTENT, EXPIRED, EXPLAINED, READY]

KILLS = {"kill", "date", "failpoint"}
LAGGING = "failover-lagging"
SERVER = {"immediate", "fast", "failover-synchronous", LAGGING}
CONNECTIONS = SERVER | {"backends", "pooler"}
# Of one gateway.
NETWORK = {"network-cut", "network-silent"}
# What ends a run whose process is gone.
LOST = "internal"
MARGIN = 5  # Seconds.
# In milliseconds. Until a gateway has compared its leases with those of another server.
NOTICED = 6000
READY_IN = 15_000
# After an outage, until a gateway has renewed its leases. Milliseconds.
RENEWED = 500


class Fault:
    def __init__(self, begin):
        self.number, self.kind, self.by, self.open = begin["fault"], begin["kind"], begin.get("by"), begin["open"]
        self.begin_n, self.begin = begin["n"], begin["t"]
        self.end_n = self.end = float("inf")


def faults_of(notes):
    faults = {}
    for line in notes["faults"]:
        key = line["fault"], line["kind"]
        if line["what"] == "begin":
            faults[key] = Fault(line)
        else:
            faults[key].end_n, faults[key].end = line["n"], line["t"]
    return list(faults.values())


def name_of(line):
    return line["thread"], line["run"]


def text_of(events):
    parsed = (json.loads(events[number]) for number in sorted(events))
    return "".join(event["delta"] for event in parsed if event["type"] == "TEXT_MESSAGE_CONTENT")


def is_lost(events):
    last = json.loads(events[max(events)])
    return last["type"] == "RUN_ERROR" and last.get("code") == LOST


class Losses:
    """What was lost when standbys that lagged behind took the server's place. Without any, it is never true. Until a gateway
    has noticed it, it shows from memory what the new server does not have."""

    def __init__(self, notes, runs):
        kept = {line["fault"]: line["runs"] for line in notes["stored"]}
        self.cuts = {line["fault"]: line["cut"] for line in notes["stored"]}
        self.faults = [(fault, kept[fault.number]) for fault in faults_of(notes) if fault.kind == LAGGING]
        self.runs = runs
        # Runs that had asked a model before the fault.
        self.called = {
            (*name_of(line), fault.number) for fault, _ in self.faults for line in notes["calls"] if line["n"] < fault.end_n}

    def threads(self, seen, others):
        """Of which something was lost: an event, or a run that the other lines are about."""
        return {line["thread"] for line in seen if self.has(line)} | {
            line["thread"] for line in others if self.lost_run(line)}

    def threads_in_doubt(self, lines):
        """That had a line after a standby was cut off, until its gateways had noticed that it took the server's place."""
        return {line["thread"] for line in lines for fault, _ in self.after(line, NOTICED)
                if line["t"] >= self.cuts[fault.number]}

    def after(self, line, noticed=0):
        return [(fault, kept) for fault, kept in self.faults
                if line["n"] < fault.end_n or noticed and line["t"] < fault.end + noticed]

    def lost_run(self, line):
        """The fault that has taken the run that the line is about, with its record; or None."""
        return next((fault for fault, kept in self.after(line) if "/".join(name_of(line)) not in kept), None)

    def lost_shown_run(self, line):
        """The same of a line that says that a client has seen the run, which it may have after the fault."""
        return self.lost_run(line) or next(
            (fault for fault, kept in self.after(line, NOTICED)
             if "/".join(name_of(line)) not in kept and (*name_of(line), fault.number) in self.called), None)

    def has(self, line):
        """Of an event: that it was lost."""
        if self.runs.get(name_of(line), {}).get(line["sequence"]) == line["data"]:
            return False
        return self.lost_number(line, line["sequence"])

    def lost_number(self, line, number):
        """Of a line that says that a client was told of this number of a run: that the event may have been lost."""
        return any(number > kept.get("/".join(name_of(line)), 0) for _, kept in self.after(line, NOTICED))


def is_long_outage(fault, lease):
    """A gateway keeps its runs for two thirds of a lease after each renewal, and renews after a third."""
    return fault.kind in SERVER | NETWORK and fault.end - fault.begin > lease * 1000 / 6


def percentiles(values):
    values = sorted(values)
    return f"p50 {values[len(values) // 2]} ms, p99 {values[len(values) * 99 // 100]} ms, max {values[-1]} ms, of {len(values)}"


def calls_of(notes, pauses, lease, losses):
    """[{thread, run, by, begin_n, end_n, end}]. `end`: from then on its answer has no effect, as a time if that is before its
    end: a process that is stopped has lost its runs at the earliest a third of the lease after that, because it keeps
    them for two thirds of a lease after each renewal, and nobody else may take them before the whole has passed. A run that a
    new server does not know can store nothing there."""
    calls = []
    open_ = {}
    for line in notes["calls"]:
        key = line["thread"], line["run"], line["by"]
        if line["what"] == "begin":
            call = {**line, "end_n": float("inf"), "lost": float("inf")}
            calls.append(call)
            open_[key] = call
        else:
            open_.pop(key)["end_n"] = line["n"]
    for call in calls:
        if fault := losses.lost_run(call):
            call["lost"] = fault.begin
        for pause in pauses:
            if pause.by == call["by"] and call["n"] < pause.begin_n < call["end_n"]:
                call["lost"] = min(call["lost"], pause.begin + lease * 1000 / 3)
    return calls


def check_calls(report, calls):
    by_thread = collections.defaultdict(list)
    for call in calls:
        others = [one for one in by_thread[call["thread"]] if one["end_n"] > call["n"] and one["lost"] > call["t"]]
        report.expect(ONE_CALL, not others, (call, others))
        by_thread[call["thread"]].append(call)


def check_streams(report, notes, runs, touched):
    for line in notes["witnessed"]:
        kept = runs.get(name_of(line), {}).get(line["sequence"])
        report.expect(WITNESSED, kept == line["data"], (line, kept))
    stitched = collections.defaultdict(list)
    gateways = collections.defaultdict(set)
    for line in notes["seen"]:
        parts = stitched[name_of(line)]
        if not parts or line["sequence"] > parts[-1][0]:
            parts.append((line["sequence"], line["data"]))
            gateways[name_of(line)].add(line["by"].split(".")[0])
    for name, parts in stitched.items():
        if len(gateways[name]) > 1 and name not in touched:
            report.expect(STITCHED, parts == sorted(runs.get(name, {}).items()), (name, parts[-3:]))
    shown = collections.defaultdict(lambda: collections.defaultdict(list))
    for line in notes["final"]:
        shown[name_of(line)][line["by"]].append((line["sequence"], line["data"]))
    processes = {line["by"] for line in notes["final"]}
    for name, by in shown.items():
        same = len(processes) > 1 and by.keys() == processes and len({tuple(events) for events in by.values()}) == 1
        report.expect(SAME, same, (name, {one: len(events) for one, events in by.items()}))


def check_stopped(report, notes, runs, pauses):
    """`pauses`: of processes that were stopped for longer than their lease."""
    seen_by_link = collections.defaultdict(list)
    for line in notes["seen"]:
        seen_by_link[line["link"]].append(line)
    for pause in pauses:
        held = {name_of(one): one["said"] for one in pause.open}
        for name, said in held.items():
            kept = text_of(runs.get(name, {}))
            report.expect(DROPPED, said.startswith(kept), (pause.number, name, said, kept))
        open_ = {}
        for line in notes["links"]:
            if line["n"] > pause.end_n:
                break
            if line["what"] == "closed":
                open_.pop(line["link"], None)
            elif line["n"] < pause.begin_n and line["by"] == pause.by and name_of(line) in held:
                open_[line["link"]] = line
        for link in open_:
            late = [line for line in seen_by_link[link] if line["n"] > pause.end_n]
            stored = runs.get(name_of(open_[link]), {})
            foreign = [line for line in late if stored.get(line["sequence"]) != line["data"]]
            report.expect(STORED, not foreign, (pause.number, open_[link], foreign[:3]))


def check_lost(report, notes, runs, faults, calls, lease):
    begins = sorted(fault.begin for fault in faults if fault.kind in KILLS | SERVER | NETWORK | {"stop"})
    took, disturbed = [], []
    by_number = {(fault.number, fault.kind): fault for fault in faults}
    for line in notes["ended"]:
        cut = by_number[line["fault"], line["kind"]]
        if not is_lost(runs.get(name_of(line)) or {1: "{\"type\": \"\"}"}):
            continue
        # Whoever was about to end it may have met the next fault: then the time begins anew.
        seen = cut.begin + line["ms"]
        latest = begins[bisect.bisect_right(begins, seen) - 1]
        (took if latest <= cut.begin else disturbed).append(seen - latest)
        report.expect(IN_TIME, seen - latest <= (lease + MARGIN) * 1000, (line, seen - latest))
    if took:
        print(f"lost runs ended after {percentiles(took)}")
    if disturbed:
        print(f"lost runs that the next fault met ended, after it, after {percentiles(disturbed)}")

    ends = {}
    for line in notes["seen"]:
        if line["sequence"] == max(runs.get(name_of(line)) or [0]):
            ends.setdefault(name_of(line), line)
    harmless = {name_of(one) for fault in faults if fault.kind not in KILLS | {"stop"} for one in fault.open}
    by_server = 0
    for name, begun in {name_of(call): call for call in reversed(calls)}.items():
        lost = name in runs and is_lost(runs[name])
        if not lost:
            if name in harmless:
                report.expect(NEEDED, True, name)
            continue
        end = ends[name]["n"] if name in ends else float("inf")
        why = {
            fault.kind for fault in faults
            if (is_long_outage(fault, lease) and fault.end + RENEWED > begun["t"] and fault.by in (None, begun["by"])
                # The standby may lack renewals, and the next one comes after a third of the lease.
                or fault.kind == LAGGING and fault.end + lease * 1000 / 3 + RENEWED > begun["t"]
                or fault.by == begun["by"] and fault.kind in KILLS | {"stop"} and fault.end_n > begun["n"])
            and fault.begin_n < end
        }
        by_server += bool(why) and why <= SERVER
        report.expect(NEEDED, bool(why), (begun, ends.get(name)))
    print(f"{by_server} runs lost because the server was away")


def waiting(fault, lease):
    """How long it may take until the threads of the lost runs are free."""
    loses = fault.kind in KILLS | {"stop"} or is_long_outage(fault, lease)
    return (lease + MARGIN) * 1000 if loses else 0


def check_stops(report, notes, faults, lease):
    elsewhere = []
    for line in notes["stops"]:
        if line["status"] != 200 or not line.get("holder"):  # Of an answer, before it has asked a model.
            continue
        sent = line["t"] - line["ms"]
        # Neither the gateway that was asked nor the one that had the run, nor the server, was away or had just been; and
        # the run had not been lost.
        if any(
            (fault.kind in CONNECTIONS or fault.by in (line["by"], line["holder"]))
            and fault.begin < line["t"] and sent < max(fault.end + 1000, fault.begin + waiting(fault, lease))
            for fault in faults
        ):
            continue
        report.expect(STOPPED, line["ms"] <= 10_000, line)
        if line["holder"].split(".")[0] != line["by"].split(".")[0]:
            elsewhere.append(line["ms"])
    if elsewhere:
        print(f"a stop through another gateway took {percentiles(elsewhere)}")


def check_losses(report, notes, runs, losses, all_seen):
    """`all_seen`: also what was lost."""
    readers, lost = collections.defaultdict(list), set()
    for line in all_seen:
        readers[name_of(line), line.get("reader", f"link {line['link']}")].append(line)
        if losses.has(line):
            lost.add((*name_of(line), line["sequence"], line["data"]))
    whole = {name_of(line) for line in notes["acknowledged"] if losses.lost_shown_run(line)}
    in_another_run = 0
    gone_threads = losses.threads(all_seen, notes["calls"] + notes["acknowledged"])
    for (name, reader), lines in readers.items():
        contents = collections.defaultdict(set)
        for line in lines:
            contents[line["sequence"]].add(line["data"])
        kept = runs.get(name, {})
        other = [number for number, data in contents.items() if data != {kept.get(number)}]
        if other:
            mixed = [number for number, data in contents.items() if number > min(other) and kept.get(number) in data]
            # A run that was lost wholly and has begun anew has the same id: its numbers mean nothing.
            in_another_run += bool(mixed) and name in whole
            report.expect(ONE_HISTORY, not mixed or name in whole, (name, reader, min(other), mixed))
            double = [number for number, data in contents.items() if len(data) > 1]
            report.expect(ONE_CONTENT, not double, (name, reader, min(other), double))
    for line in notes["cursors"]:
        events = runs.get(name_of(line), {0: ""})
        last = max(events)
        # In the end that a lost run got on the new server, a number may be one of the lost events.
        uncertain = {410} if last and losses.faults and is_lost(events) else set()
        allowed = {404: {404}, 200: {410} if line["after"] > last else {200, 204} | uncertain}.get(line["whole"], set())
        report.expect(EXPIRED, line["status"] in allowed, (line, last))
    for line in notes["gone"]:
        report.expect(EXPLAINED, line["thread"] in gone_threads, line)
    if losses.faults:
        early = {(thread, run) for thread, run, *_ in lost} - whole
        print(f"{len(losses.faults)} standbys that lagged: {len(lost)} events lost that clients had seen, "
              f"{len(whole)} runs lost wholly, {len(early)} the end of which was lost; "
              f"{in_another_run} readers went on in a run that had begun anew")


def check_ready(report, notes):
    by_kind = collections.defaultdict(list)
    for line in notes["ready"]:
        by_kind[line["kind"]].append(line["ms"])
        report.expect(READY, line["ms"] <= READY_IN, line)
    for kind, took in sorted(by_kind.items()):
        print(f"ready again after {kind} in {percentiles(took)}")


def check(report, settings, notes, runs, database, losses, all_seen):
    lease = settings["lease"]
    faults = faults_of(notes)
    touched = {name_of(line) for line in all_seen if losses.has(line)}
    notes["witnessed"] = [line for line in notes["witnessed"] if not losses.has(line)]
    check_losses(report, notes, runs, losses, all_seen)
    check_ready(report, notes)
    # Long enough to have lost what it had.
    pauses = [one for one in faults if one.kind == "stop" and one.end - one.begin > lease * 1000]
    calls = calls_of(notes, pauses, lease, losses)
    check_calls(report, calls)
    check_streams(report, notes, runs, touched)
    check_stopped(report, notes, runs, pauses)
    check_lost(report, notes, runs, faults, calls, lease)
    check_stops(report, notes, faults, lease)
    active = database.execute("SELECT run_id FROM runs WHERE status = 'active'").fetchall()
    leases = database.execute("SELECT thread_id, run_id FROM leases").fetchall()
    report.expect(HELD, not active and not leases, (active, leases))
