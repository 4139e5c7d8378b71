"""The process of a part of a selftest: ``python -m restride_measure.selftest.worker NAME``, in lines of JSON.

    in:  {"selector": ..., "seconds": ..., "is_small": ..., "seed": ...}
    out: {"step": "text"}, any number of times, then one of
         {"outcomes": [...], "device": {...}, "text": "...", "problems": [[exit code, "message"], ...]}
         {"not_run": "why"}
         {"problems": [[exit code, "message"]]}: it failed

After its answer the process closes the device and ends, once its input ends.
"""

from __future__ import annotations

import faulthandler
import json
import sys
from contextlib import suppress
from typing import Any

from restride.command.process import Exit, exit_for, line_for
from restride.errors import OutOfDeviceMemory
from restride_conformance.run.process import mistake, take_channel
from restride_measure.selftest.part import Job, NotRun, Part
from restride_measure.selftest.parts import GRACE, PARTS


def main() -> None:
    """Run the part that the command line names."""
    commands, answer = take_channel()
    # The parent may be gone.
    with suppress(BrokenPipeError):
        job = Job(**json.loads(commands.readline()), step=lambda text: answer({"step": text}))
        faulthandler.dump_traceback_later(job.seconds + 2 * GRACE, exit=True)
        answer(_result(sys.argv[1], job))
        commands.read()
        job.close()


def run(name: str, job: Job) -> Part:
    """Run the part with this name."""
    (function,) = (row.function for row in PARTS if row.name == name)
    return function(job)


def _result(name: str, job: Job) -> dict[str, Any]:
    try:
        part = run(name, job)
    except (NotRun, OutOfDeviceMemory) as reason:
        return {"not_run": str(reason)}
    except Exception as error:  # noqa: BLE001 - a mistake of ours costs its own part only, and is reported there
        code, message = exit_for(error), line_for(error)
        if code is None:
            code, message = Exit.INTERNAL, mistake()
        elif code is Exit.USAGE:  # the part made the request, not the user
            code = Exit.CHECK_FAILED
        return {"problems": [[int(code), message]]}
    problems = [[int(each.exit_code), each.message] for each in part.problems]
    outcomes = [outcome.record() for outcome in part.outcomes]
    return {"outcomes": outcomes, "device": part.device, "text": part.text, "problems": problems}


if __name__ == "__main__":
    main()
