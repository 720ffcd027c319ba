"""Frames and messages."""

import os
import threading

import pytest

from fuzzgraph.execution.protocol import (
    ErrorInfo,
    Failure,
    FrameReader,
    Job,
    Outcome,
    pack_frame,
    read_frame,
    write_frame,
)  # fmt: skip

OUTCOME = Outcome(
    "a", "failure", "cpp", (Failure("crash", "exception", "cpp", "m", "d", ("f:g",), "T", ("S", "T")),),
    ErrorInfo("T", "m", ("f:g",), ("T",), "trace"), {"line": {"_inductor/a.py": [1, 2]}, "counter": ["x"]}, 1.5, 2.5,
    "out", {"torch": "2"}, 11, 3,
)  # fmt: skip


def test_messages_cross_a_pipe_unchanged():
    reader, writer = os.pipe()
    job = Job("j", "src", options={"config": {"inductor.cpp.simdlen": 1}}, plans={"value": {"outputs": [[0, 1]]}})
    for message in (job.to_data(), OUTCOME.to_data()):
        write_frame(writer, message)
    assert Job.from_data(read_frame(reader)) == job
    assert Outcome.from_data(read_frame(reader)) == OUTCOME
    os.close(writer)
    assert read_frame(reader) is None
    os.close(reader)


def test_frames_may_arrive_in_any_pieces():
    stream = pack_frame({"a": 1}) + pack_frame({"b": "x" * 1000})
    reader = FrameReader()
    found = [m for i in range(len(stream)) for m in reader.feed(stream[i : i + 1])]
    assert found == [{"a": 1}, {"b": "x" * 1000}]


def test_a_large_frame_crosses_a_pipe():
    reader, writer = os.pipe()
    message = {"x": b"y" * 3_000_000}
    thread = threading.Thread(target=write_frame, args=(writer, message))
    thread.start()
    assert read_frame(reader) == message
    thread.join()


def test_a_stream_cut_off_in_the_middle_ends():
    reader, writer = os.pipe()
    os.write(writer, pack_frame({"a": 1})[:-1])
    os.close(writer)
    assert read_frame(reader) is None


def test_nonsense_is_refused():
    with pytest.raises(ValueError, match="frame of"):
        FrameReader().feed(b"\xff\xff\xff\xff")


def test_options_of_any_origin_become_plain():
    job = Job("j", "", options={"config": {"a": (1, 2)}, "other": object})
    assert job.to_data()["options"]["config"] == {"a": [1, 2]}


def test_text_that_is_no_unicode_crosses():
    assert "?" in FrameReader().feed(pack_frame({"a": "\udc80"}))[0]["a"]


@pytest.mark.parametrize(
    ("status", "stage", "valid"),
    [
        ("ok", "done", True), ("failure", "cpp", True), ("signal", "subject", True), ("unstable", "done", True),
        ("invalid", "reference", False), ("signal", "reference", False), ("timeout", "load", False),
        ("lost", "harness", False),
    ],
)  # fmt: skip
def test_a_program_is_valid_if_its_reference_ran(status, stage, valid):
    assert Outcome("a", status, stage).valid is valid
