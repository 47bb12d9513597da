"""What the checker finds, each with a history in which it is wrong, and nothing in those that are right.

    python3 -B Tests/Servers/test_checker.py
"""

import unittest

from checker import Session


def line(op, start, end, log=None, process="p1", outcome="ok", **more):
    """A line whose log is text, from which follows the version."""
    made = {"process": process, "op": op, "start": start, "end": end, "outcome": outcome}
    if log is not None:
        made |= {"log": log.split(), "version": len(log.split()) + 1}
    return made | more


def post(entry, start, end, log=None, **more):
    return line("post", start, end, log, kind=entry[0], mark=int(entry[1:]), key=f"key-{entry}", **more)


CREATE = line("create", 0, 1, "")


class CheckerTests(unittest.TestCase):
    def names(self, *lines, **options):
        return [name for name, _ in Session([CREATE, *lines], **options).check()]

    def found(self, names, *lines, **options):
        """It finds these, and nothing else."""
        self.assertEqual(set(self.names(*lines, **options)), set(names.split()))

    def fine(self, *lines, **options):
        self.assertEqual(self.names(*lines, **options), [])

    def test_a_history_without_faults(self):
        self.fine(
            post("m1", 2, 3, "m1"), line("join", 3, 4, "m1 d2", "p2", kind="d", mark=2),
            post("w2", 5, 6, "m1 d2 w2"), post("t3", 5, 7, "m1 d2 w2 W2 t3", process="p2", delay=2),
            line("read", 8, 9, "m1 d2 w2 W2 t3"), post("m4", 9, 10, outcome="failed"),
            post("m5", 9, 20, outcome="unknown", process="p2"), line("history", 20, 21, "m1", "p1"),
            line("final", 30, 31, "m1 d2 w2 W2 t3 T3 m5"))

    def test_two_states_of_one_version(self):
        self.found("two-states lost", post("m1", 2, 9, "m1"), post("m2", 2, 9, "m2", process="p2"))

    def test_a_version_without_an_entry(self):
        self.found("not-counted", post("m1", 2, 3, "m1", version=3))

    def test_a_version_that_was_rewritten(self):
        self.found("rewritten", post("m1", 2, 9, "m1"), post("m2", 2, 9, process="p2"), line("final", 10, 11, "m2 m1"))

    def test_half_of_a_change(self):
        self.found("torn", post("m1", 2, 3, "m1"), line("read", 4, 5, "m1", copy=[]))

    def test_twice(self):
        self.found("twice", post("m1", 2, 3, "m1"), line("read", 4, 5, "m1 m1"))

    def test_lost(self):
        self.found("lost", post("m1", 2, 3), line("final", 4, 5, ""))

    def test_a_lost_device(self):
        self.found("lost", line("join", 2, 3, kind="d", mark=2), line("final", 4, 5, ""))

    def test_lost_although_it_was_seen(self):
        self.found("lost stale went-back", post("m1", 2, 3, "m1"), line("final", 4, 5, ""))

    def test_a_refused_event_that_is_applied(self):
        self.found("refused-applied", post("m1", 2, 3, outcome="failed"), line("final", 4, 5, "m1"))

    def test_an_event_of_nobody(self):
        self.found("invented", line("read", 2, 3, "m1"))

    def test_an_outcome_without_its_cause(self):
        self.found("invented", post("w1", 2, 9, outcome="unknown"), line("read", 3, 4, "W1"))

    def test_an_outcome_before_its_cause(self):
        self.found("invented", post("w1", 2, 9, outcome="unknown"), line("read", 3, 4, "W1 w1"))

    def test_an_answer_without_the_event(self):
        self.found("not-in-answer", post("m1", 2, 3, ""), line("read", 4, 5, "m1"))

    def test_an_answer_with_a_later_state(self):
        self.found("not-in-answer", post("m1", 2, 3, "m1 m2"), post("m2", 2, 3, "m1 m2", process="p2"))
        self.fine(post("m1", 2, 3, "m1 m2", later=True), post("m2", 2, 3, "m1 m2", process="p2"))

    def test_a_condition_that_is_ignored(self):
        self.found("condition-ignored", post("m1", 2, 9, "m1"), post("m2", 2, 9, "m1 m2", process="p2", match=1))

    def test_another_answer_to_a_key(self):
        again = line("repeat", 4, 5, "m1", key="key-m1", digest="b")
        self.found("other-answer", post("m1", 2, 3, "m1", digest="a"), again)
        self.fine(post("m1", 2, 3, "m1", digest="a"), again | {"digest": "a"})

    def test_a_stale_read(self):
        self.found("stale", post("m1", 2, 3, "m1"), line("read", 4, 5, "", "p2"))
        self.fine(post("m1", 2, 4.5, "m1"), line("read", 4, 5, "", "p2"))

    def test_a_read_after_a_newer_read(self):
        self.found("stale", post("m1", 2, 9, "m1"), line("read", 3, 4, "m1", "p2"), line("read", 5, 6, "", "p3"))

    def test_a_refusal_with_a_stale_state(self):
        self.found("stale", post("m1", 2, 3, "m1"), post("m2", 4, 5, "", process="p2", outcome="failed"))

    def test_a_write_before_one_that_had_ended(self):
        self.found("out-of-order", post("m1", 2, 3), post("m2", 4, 5), line("final", 6, 7, "m2 m1"))
        self.fine(post("m1", 2, 4.5), post("m2", 4, 5, process="p2"), line("final", 6, 7, "m2 m1"))

    def test_an_event_that_is_seen_before_it_was_posted(self):
        self.found("from-the-future out-of-order", line("read", 2, 3, "m1", "p2"), post("m1", 4, 5, "m1"))

    def test_a_client_that_goes_back(self):
        self.found("went-back", post("m1", 2, 9, "m1"), line("drawn", 1, 4, "m1", "p2"), line("drawn", 1, 5, "", "p2"))

    def test_a_stream_that_goes_back(self):
        self.found("went-back", post("m1", 2, 9, "m1"), line("stream", 2, 4, "m1", "p2", stream="p2-1", tag='"2"'),
                   line("stream", 2, 5, "", "p2", stream="p2-1", tag='"1"'))

    def test_a_stream_that_repeats(self):
        first = line("stream", 2, 4, "m1", "p2", stream="p2-1", tag='"2"')
        self.found("stream-twice", post("m1", 2, 9, "m1"), first, first | {"end": 5})
        self.fine(post("m1", 2, 9, "m1"), first, first | {"end": 5, "tag": '"2.7"'})

    def test_a_stream_without_the_last_version(self):
        lines = [post("m1", 2, 9, "m1"), line("stream", 1, 3, "", "p2", stream="p2-1", tag='"1"'),
                 line("final", 10, 11, "m1")]
        self.found("stream-stuck", *lines, line("stream-open", 1, 20, process="p2", stream="p2-1"))
        self.fine(*lines)

    def test_work_without_an_outcome(self):
        self.found("no-outcome", post("w1", 2, 3, "w1"), line("final", 60, 61, "w1"))

    def test_work_with_two_outcomes(self):
        self.found("twice", post("w1", 2, 3, "w1"), line("final", 60, 61, "w1 W1 W1"))

    def test_a_timer_that_fires_early(self):
        timer = post("t1", 2, 3, "t1", delay=10)
        self.found("early", timer, line("read", 9, 10, "t1 T1", "p2"))
        self.fine(timer, line("read", 11, 12.1, "t1 T1", "p2"))

    def test_a_timer_that_fires_late(self):
        lines = [post("t1", 2, 3, "t1", delay=10), line("read", 29, 30, "t1", "p2"), line("final", 40, 41, "t1 T1")]
        self.found("late", *lines, calm=[(0, 50)])
        self.found("late", *lines, calm=[(0, 5), (12, 31)])
        self.fine(*lines, calm=[(0, 5), (28, 50)])
        self.fine(*lines)

    def test_a_dry_run_that_is_carried_out(self):
        self.found("refused-applied", post("y1", 2, 3, outcome="failed"), line("final", 4, 5, "y1"))


if __name__ == "__main__":
    unittest.main()
