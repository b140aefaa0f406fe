"""What is missing or damaged in a run folder is one sentence that says what to do."""

import pytest

from uidd import InputError
from uidd.report import RunFolder

READERS = {
    "fit.json": RunFolder.fit_summary,
    "history.json": RunFolder.history,
    "held-out.npz": RunFolder.held_out,
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize(("content", "state"), [(None, "missing"), ("{}", "damaged"), ("[{}]", "damaged")])
def test_an_incomplete_run_says_what_is_wrong(name, content, state, tmp_path):
    (tmp_path / "config.json").write_text("{}")
    if content is not None:
        (tmp_path / name).write_text(content)
    run = RunFolder.open(tmp_path)
    if (name, content) == ("history.json", "{}"):
        assert READERS[name](run) == []
        return
    with pytest.raises(InputError, match=f"{name} is {state}. Fit again"):
        READERS[name](run)


def test_a_run_without_a_model_did_not_end(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InputError, match="--resume"):
        RunFolder.open(tmp_path).model()
