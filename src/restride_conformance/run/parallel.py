"""Run cases on several runners at the same time, each in worker processes of its own."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Sequence

from restride_conformance.case import Case
from restride_conformance.record import Outcome, RunMode
from restride_conformance.run.runner import Runner

Judged = tuple[int, Outcome]
"""The place of a case among all cases, and its outcome."""


def run_all(runners: Sequence[Runner], cases: Sequence[Case], mode: RunMode) -> Generator[Judged, None, None]:
    """Yield the position and outcome of each case, in the order in which they end; one runner keeps the cases' order.

    Each runner takes the next case as soon as it is free, so that no runner gets most of the slow cases. A caller that
    stops early waits for the running cases, unless the runners are abandoned, as after an exception here.

    Raises:
        RestrideError: as ``Runner.run``.
    """
    if len(runners) == 1:
        for place, case in enumerate(cases):
            yield place, runners[0].run(case, mode)
        return
    waiting = queue.SimpleQueue[tuple[int, Case]]()
    ended = queue.SimpleQueue[Judged | BaseException]()
    for numbered in enumerate(cases):
        waiting.put(numbered)
    stopped = threading.Event()

    def work(runner: Runner) -> None:
        try:
            while not stopped.is_set():
                place, case = waiting.get_nowait()
                ended.put((place, runner.run(case, mode)))
        except queue.Empty:
            pass
        except BaseException as error:  # noqa: BLE001 - raised in the thread that waits for the outcomes
            ended.put(error)

    threads = [threading.Thread(target=work, args=(runner,), daemon=True) for runner in runners[: len(cases)]]
    try:
        for thread in threads:
            thread.start()
        for _ in cases:
            result = ended.get()
            if isinstance(result, BaseException):
                raise result  # noqa: TRY301 - abandons all runners, as an interrupt does
            yield result
    except GeneratorExit:
        raise
    except BaseException:
        for runner in runners:
            runner.abandon()
        raise
    finally:
        stopped.set()
        for thread in threads:
            if thread.is_alive():
                thread.join()
