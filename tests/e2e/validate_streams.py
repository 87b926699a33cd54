"""Checks recorded event streams with ag-ui-validate: one stream, one test.

usage: validate_streams.py FOLDER

FOLDER holds NAME.sse files and, beside some, NAME.allow with the rules that the stream may break, one a
line. A result without `role` right after RUN_STARTED may be of a call of an earlier run: the gateway says so
of calls that nobody can answer any more. Prints each error, then `N passed, M failed`. Exit status 1 if a stream failed or there was none.
"""

import asyncio
import json
import pathlib
import sys

from ag_ui_validate.transport import TransportOptions, validate_body


async def chunks(data: bytes):
    yield data


def allowed_rules(stream: pathlib.Path) -> set[str]:
    beside = stream.with_suffix(".allow")
    return set(beside.read_text().split()) if beside.exists() else set()


def earlier_results(stream: pathlib.Path) -> set[int]:
    """The indexes of the results right after RUN_STARTED that may be of calls of an earlier run."""
    indexes: set[int] = set()
    data = [line[6:] for line in stream.read_text().split("\n") if line.startswith("data: ")]
    for index, text in enumerate(data[1:], 1):
        try:
            event = json.loads(text)
        except ValueError:
            break
        if event.get("type") != "TOOL_CALL_RESULT" or "role" in event:
            break
        indexes.add(index)
    return indexes


async def errors_of(stream: pathlib.Path) -> list[str]:
    options = TransportOptions(recorded=True)
    result = await validate_body(chunks(stream.read_bytes()), None, options)
    allowed = allowed_rules(stream)
    earlier = earlier_results(stream)
    errors = [
        f"{finding.rule}, event {finding.event_index}: {finding.message}"
        for finding in result.report.diagnostics
        if finding.severity == "error" and finding.rule not in allowed
        and not (finding.rule == "AGUI207" and finding.event_index in earlier)
    ]
    return errors + [f"internal: {text}" for text in result.report.internal_errors]


async def main(folder: str) -> int:
    streams = sorted(pathlib.Path(folder).glob("*.sse"))
    failed = 0
    for stream in streams:
        errors = await errors_of(stream)
        if errors:
            failed += 1
            print(f"FAILED {stream.name}")
            for error in errors:
                print(f"    {error}")
    if not streams:
        print(f"no recorded stream in {folder}", file=sys.stderr)
    print(f"{len(streams) - failed} passed, {failed} failed")
    return 1 if failed or not streams else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(asyncio.run(main(sys.argv[1])))
