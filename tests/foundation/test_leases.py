"""Leases on rows are renewed while their process works, and given back when it is stopped."""

import threading

import pytest

from foundation import leases
from foundation.leases import Lease, WorkStopped


class Row:
    """A row that one process holds, and what that process did with it."""

    def __init__(self) -> None:
        self.is_ours = True
        self.renewed = threading.Event()
        self.given_back = 0
        self.lease = Lease(self._renew, self._give_back)

    def _renew(self) -> bool:
        self.renewed.set()
        return self.is_ours

    def _give_back(self) -> None:
        self.given_back += 1


@pytest.fixture
def row(monkeypatch: pytest.MonkeyPatch) -> Row:
    monkeypatch.setattr(leases, "RENEWAL_SECONDS", 0.01)
    monkeypatch.setattr(leases, "_stopping", threading.Event())
    return Row()


def test_a_lease_is_renewed_while_the_work_lasts(row: Row) -> None:
    with leases.hold(row.lease):
        assert row.renewed.wait(10)
        row.lease.check()
    assert row.given_back == 0


def test_work_whose_row_another_process_has_stops_and_gives_nothing_back(row: Row) -> None:
    row.is_ours = False

    def work() -> None:
        with leases.hold(row.lease):
            assert row.lease.is_lost.wait(10)
            row.lease.check()

    with pytest.raises(WorkStopped):
        work()
    assert row.given_back == 0


def test_a_renewal_that_fails_is_made_again(row: Row) -> None:
    failed = threading.Event()

    def renew() -> bool:
        if not failed.is_set():
            failed.set()
            raise OSError
        row.renewed.set()
        return True

    with leases.hold(Lease(renew, row.lease.give_back)):
        assert row.renewed.wait(10)


def test_work_is_given_back_when_the_process_is_stopped(row: Row) -> None:
    def work() -> None:
        with leases.hold(row.lease):
            row.lease.check()
            leases.begin_stop()
            row.lease.check()

    with pytest.raises(WorkStopped):
        work()
    assert row.given_back == 1


def test_work_that_does_not_end_in_time_is_given_back_all_the_same(row: Row) -> None:
    def work() -> None:
        with leases.hold(row.lease):
            leases.begin_stop()
            leases.give_back_all()
            assert row.given_back == 1
            row.lease.check()

    with pytest.raises(WorkStopped):
        work()
    assert row.given_back == 1
    leases.give_back_all()
    assert row.given_back == 1
