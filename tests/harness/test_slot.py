"""The channel between a child and its watchdog."""

import os

from fuzzgraph.harness.slot import Slot


def in_child(slot, body):
    pid = os.fork()
    if pid == 0:
        try:
            slot.adopt()
            body()
        finally:
            os._exit(0)
    slot.close_child_ends()
    os.waitpid(pid, 0)


def test_phases_and_outcomes_arrive():
    slot = Slot()
    assert slot.head()[:2] == (-1, "start")

    def body():
        slot.begin(3)
        slot.enter("subject")
        assert slot.send({"id": "a"}) and slot.send({"id": "b"})

    in_child(slot, body)
    index, phase, since, cpu = slot.head()
    assert (index, phase) == (3, "subject") and since > 0 and cpu >= 0
    assert slot.receive() == [{"id": "a"}, {"id": "b"}] and slot.left_reply() is None
    slot.close()


def test_an_outcome_survives_a_program_that_closes_or_replaces_the_pipe():
    for spoil in (lambda fd: os.close(fd), lambda fd: os.dup2(1, fd)):
        slot = Slot()

        def body(slot=slot, spoil=spoil):
            slot.begin(0)
            spoil(slot.frame_fd)
            assert not slot.send({"id": "a"})

        in_child(slot, body)
        assert slot.receive() == []
        assert slot.left_reply() == {"id": "a"} and slot.left_reply() is None
        slot.close()


def test_output_is_captured_bounded_and_dropped_between_programs():
    slot = Slot()

    def body():
        slot.begin(0)
        print("first", flush=True)
        slot.begin(1)
        os.write(1, b"x" * 100)
        os.write(2, b"end")

    in_child(slot, body)
    assert slot.output(1000) == "x" * 100 + "end"
    assert "left out" in slot.output(20) and slot.output(20).endswith("end")
    slot.close()
