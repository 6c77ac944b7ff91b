"""Steps that the stall watch observes, and its findings."""

from hypothesis import strategies as st

from rundry.agent.budget.stall.observation import Call, Observation
from rundry.agent.budget.stall.stall_watch import StallWatch
from rundry.agent.protocol import StallLimits


def did(action="read_file", result="x", ok=True, world=None, **arguments) -> Observation:
    return Observation(calls=[Call(action=action, arguments=arguments, result=result, ok=ok)], world=world)


def refused(path: str) -> Observation:
    return Observation(calls=[Call(action="write_file", arguments={"path": path}, result="no", ok=False, refused=True)])


def said(text: str) -> Observation:
    return Observation(text=text)


def findings(watch: StallWatch, *seen: Observation) -> list[tuple[str, str] | None]:
    found = [watch.observe(one, StallLimits()) for one in seen]
    return [None if one is None else (one.kind, one.response) for one in found]


step = st.one_of(
    st.builds(
        did,
        st.sampled_from(["read_file", "run_command"]),
        st.sampled_from(["x", "y", "error: z"]),
        st.booleans(),
        st.sampled_from([None, None, None, "w0", "w1", "w2"]),
        path=st.sampled_from(["a", "b"]),
    ),
    st.builds(said, st.sampled_from(["", "plan", "other plan"])),
    st.builds(refused, st.sampled_from(["a", "b"])),
)
