"""One run: starts the servers of each set-up, drives them in turns, and checks their records."""

import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Final

from bench import backends, contestants, drive, environments, machine, rounds, stores, wires
from bench.backends import Backend, Tenant
from bench.contestants import OURS, Contestant, Kind, Setting, Way
from bench.drive import Driver, Task
from bench.figures import Cell, Memory, Run
from bench.rounds import Round, Turn
from bench.tools import Calls
from bench.wires import MODERN, WIRES

WARM_UP_SECONDS: Final = 1
UNAUTHENTICATED: Final = 401
MICROSECONDS: Final = 1_000_000


@dataclass(frozen=True)
class Plan:
    """What is measured: every combination, each for so many rounds of so many seconds.

    `only` says on which wires a server is driven, where not on all. The first kind is the baseline.
    `switch` turns the tools off and `layer` of the gate refuses them then.
    """

    calls: Calls
    switch: str
    layer: str
    stores: Sequence[str]
    workers: Sequence[int]
    concurrency: Sequence[int]
    wires: Sequence[str]
    kinds: Sequence[Kind]
    rounds: int
    seconds: int
    only: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def on(self, wire: str) -> list[Kind]:
        return [kind for kind in self.kinds if wire in self.only.get(kind.name, WIRES)]

    def workers_on(self, store: str) -> Sequence[int]:
        """On SQLite there is one process: a second would only wait for the first one's writes."""
        return (1,) if store == "sqlite" else self.workers


@dataclass(frozen=True)
class Place:
    """One kind of database with what it begins with, and what drives the servers on it."""

    store: str
    backend: Backend
    tenant: Tenant
    folder: Path
    interpreter: Path
    driver: Driver


@dataclass(frozen=True)
class Stage:
    """The servers of one set-up, and how many calls each has answered."""

    plan: Plan
    place: Place
    workers: int
    servers: Mapping[str, Contestant]
    answered: Counter[str] = field(default_factory=Counter)


def run(plan: Plan, driver: str) -> Run:
    """Everything in the plan. Raises stores.Missing or contestants.Unready."""
    made = Run(driver=driver, rounds=plan.rounds, seconds=plan.seconds, load=os.getloadavg()[0])
    made.versions.update(machine.versions())
    interpreter = _interpreter(plan, made)
    for store in plan.stores:
        with stores.scratch_folder() as folder, backends.BACKENDS[store](folder) as backend:
            _say(f"{store}: filling a database")
            tenant = backends.found(backend, plan.calls)
            made.versions[store] = backend.version
            made.machine.update(machine.described(folder))
            place = Place(store, backend, tenant, folder, interpreter, drive.DRIVERS[driver])
            for workers in plan.workers_on(store):
                with ExitStack() as ending:
                    servers = {
                        kind.name: _start(ending, place, kind, workers, plan.calls)
                        for kind in plan.kinds
                    }
                    _play(Stage(plan, place, workers, servers), made)
    return made


def _interpreter(plan: Plan, made: Run) -> Path:
    """What the peers run on; our own interpreter where there are none."""
    if not any(kind.peer for kind in plan.kinds):
        return Path(sys.executable)
    interpreter = environments.python()
    made.versions.update(environments.versions(interpreter))
    return interpreter


def _start(ending: ExitStack, place: Place, kind: Kind, workers: int, calls: Calls) -> Contestant:
    _say(f"starting {kind.title}, {workers} worker(s)")
    setting = Setting(
        database=place.backend.fresh(f"{kind.name}_{workers}") if kind.writes else "",
        environment=place.backend.environment,
        work=place.tenant.work,
        calls=calls,
        token=place.tenant.token,
        workers=workers,
        interpreter=place.interpreter,
    )
    return ending.enter_context(contestants.running(kind, setting, place.folder))


def _play(stage: Stage, made: Run) -> None:
    """All cells of a set-up, then what the records say of it."""
    plan = stage.plan
    stage.answered.update({name: server.proved for name, server in stage.servers.items()})
    for tool, concurrency, wire in product(plan.calls, plan.concurrency, plan.wires):
        cell = _cell(stage, (tool, wire), concurrency)
        made.cells.append(cell)
        made.faults.extend(f"{cell.title}: {said}" for said in cell.faults)
        _say(cell.line())
    where = f"{stage.place.store}, {stage.workers} worker(s)"
    for server in stage.servers.values():
        if server.kind.writes:
            said = _records(stage, server)
            made.checks.extend(f"{where}: {line}" for line in said.held)
            made.faults.extend(f"{where}: {line}" for line in said.broken)


def _cell(stage: Stage, way: Way, concurrency: int) -> Cell:
    plan, (tool, wire) = stage.plan, way
    names = [kind.name for kind in plan.on(wire)]
    warm_ups: list[Round] = []

    def turn(name: str) -> Turn:
        server = stage.servers[name]
        request, reply = server.requests[way], server.replies[way]
        task = Task(server.url, request, reply, concurrency, plan.seconds)
        # Before every turn, so that who was idle for long begins like who has just been driven.
        warm_ups.append({name: _drive(stage, server, replace(task, seconds=WARM_UP_SECONDS))})
        return _drive(stage, server, task)

    played = rounds.play(names, plan.rounds, turn)
    memory = {name: Memory(*stage.servers[name].memory()) for name in names}
    return Cell(
        store=stage.place.store,
        workers=stage.workers,
        tool=tool,
        wire=wire,
        concurrency=concurrency,
        baseline=OURS.name,
        rounds=played,
        memory=memory,
        faults=rounds.complaints([*warm_ups, *played]),
    )


def _drive(stage: Stage, server: Contestant, task: Task) -> Turn:
    """Drive one server while the others are idle; CPU time is of that while."""
    before = _cpu_seconds(stage, server)
    seen = stage.place.driver(task)
    after = _cpu_seconds(stage, server)
    stage.answered[server.kind.name] += seen.answered
    each = MICROSECONDS / max(seen.answered, 1)
    cpu = {group: (after[group] - before[group]) * each for group in after}
    return Turn(seen.answered, seen.bad, seen.rate, seen.p50, seen.p99, cpu, seen.complaint)


def _cpu_seconds(stage: Stage, server: Contestant) -> Mapping[str, float]:
    database = stage.place.backend.cpu_seconds(server.database) if server.kind.writes else {}
    return {"server": server.server.cpu_seconds(), **database}


@dataclass(frozen=True)
class Said:
    """The records of a server that are right, and those that are not."""

    held: list[str]
    broken: list[str]

    def note(self, holds: object, line: str) -> None:
        (self.held if holds else self.broken).append(line)


def _records(stage: Stage, server: Contestant) -> Said:
    """Whether every call is on record, and whether what is switched off or revoked is refused."""
    said, title, backend = Said([], []), server.kind.title, stage.place.backend
    rows = backends.ask(backend, server.database, "count") - stage.place.tenant.rows
    answered = stage.answered[server.kind.name]
    said.note(rows == answered, f"{title}: {answered} calls answered, {rows} on record")
    way = (next(iter(stage.plan.calls)), MODERN)
    backends.ask(backend, server.database, stage.plan.switch)
    layer = wires.refused_by(server.call(way)[1])
    said.note(
        layer == stage.plan.layer,
        f"{title}: refused by {layer or 'no layer'} after the toggle, at once",
    )
    backends.ask(backend, server.database, "revoke")
    status = server.call(way)[0]
    said.note(status == UNAUTHENTICATED, f"{title}: {status} after the revocation, at once")
    return said


def _say(line: str) -> None:
    sys.stderr.write(f"bench: {line}\n")
    sys.stderr.flush()
