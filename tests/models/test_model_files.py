"""Model files: bit for bit there and back, and one sentence for whatever is wrong with them."""

import hashlib
import json

import jax
import numpy as np
import pytest

from uidd._checks import InputError
from uidd.components import (
    Absent,
    Constant,
    Drawn,
    Full,
    Quadratic,
    SumOfSquares,
    Triangular,
    Tridiagonal,
    Uniform,
    Varying,
)
from uidd.data import Scaling
from uidd.models import Architecture, Container, Model, load_model, load_provenance, save_model

SMALL = Architecture(SumOfSquares(components=3, widths=(4,)), Triangular((4,)), Full((4,)))
PART = ("potential", "diffusion", "circulation")


@pytest.fixture
def model(random_dynamics):
    return Model(
        random_dynamics(SMALL, 2, 5),
        SMALL,
        Scaling((0.1, 1e9), (1 / 3, 2.5e-7), 0.7),
        anchors=((0.1, 1e9 + 1 / 3), (-0.2, 1e9)),
        coordinates=("length", "µ angle"),
        units=("µm", "rad"),
        time_unit="s",
    )


@pytest.fixture
def path(model, tmp_path):
    save_model(model, tmp_path / "m.uidd", provenance={"seed": 5})
    return tmp_path / "m.uidd"


def same(a, b):
    """Equal in every static field and in every bit of every weight."""
    return jax.tree.structure(a) == jax.tree.structure(b) and all(
        x.dtype == y.dtype and np.array_equal(np.asarray(x).view(np.uint8), np.asarray(y).view(np.uint8))
        for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    )


def refusal(path):
    """The one sentence with which a file is refused; nothing but `InputError` may come out."""
    with pytest.raises(InputError) as caught:
        load_model(path)
    message = str(caught.value)
    assert "\n" not in message and message.endswith(".")
    assert str(path) in message or message.startswith("The specification of this model")
    return message


def rewrite(path, change):
    """Change header and arrays, and write the file again with a right checksum."""
    container = Container.read(path, "model")
    header, arrays = dict(container.header), list(container.arrays)
    change(header, arrays)
    Container("model", header, arrays).write(path)


def raw(path, content):
    path.write_bytes(b"uidd 1 " + hashlib.sha256(content).hexdigest().encode() + b"\n" + content)
    return path


def test_a_model_comes_back_bit_for_bit(model, path):
    back = load_model(path)
    assert same(model, back)
    assert load_provenance(path) == {"seed": 5}


def test_a_time_reversed_model_comes_back_time_reversed(model, tmp_path):
    save_model(model.time_reversed(), tmp_path / "back.uidd")
    back = load_model(tmp_path / "back.uidd")
    assert same(back, model.time_reversed()) and not same(back, model)
    assert same(back.time_reversed(), model)


@pytest.mark.parametrize("circulation", [Tridiagonal((4,)), Absent()], ids=str)
@pytest.mark.parametrize("diffusion", [Constant("full"), Constant("diagonal"), Triangular((4,))], ids=str)
def test_every_specification_comes_back(circulation, diffusion, random_dynamics, tmp_path):
    spec = Architecture(SumOfSquares(components=3, widths=()), diffusion, circulation, temperature=0.1)
    model = Model(random_dynamics(spec, 2, 0), spec, Scaling.identity(2))
    save_model(model, tmp_path / "m.uidd")
    assert same(load_model(tmp_path / "m.uidd"), model)


DRAWN = Architecture(Quadratic(6, (0.5, 2.0)), Varying(4), Drawn(4), temperature=0.1)


@pytest.mark.parametrize("dimension", [1, 2, 7])
@pytest.mark.parametrize(
    "spec",
    [DRAWN, DRAWN.plain, Architecture(circulation=Uniform("tridiagonal")), SMALL.plain],
    ids=["drawn", "drawn plain", "tridiagonal", "small plain"],
)
def test_models_of_drawn_units_and_plain_ones_come_back(spec, dimension, random_dynamics, tmp_path):
    model = Model(random_dynamics(spec, dimension, 0), spec, Scaling.identity(dimension))
    save_model(model, tmp_path / "m.uidd")
    back = load_model(tmp_path / "m.uidd")
    assert same(back, model) and back.architecture == spec
    assert Architecture.from_dict(json.loads(json.dumps(spec.to_dict()))) == spec


@pytest.mark.parametrize(
    ("part", "options"),
    [
        ("potential", {"width": "a"}), ("potential", {"scales": []}), ("potential", {"scales": 3}),
        ("diffusion", {"width": 0}), ("diffusion", {"scales": ["a"]}), ("circulation", {"width": 1.5}),
    ],
)  # fmt: skip
def test_drawn_units_that_make_no_sense_are_refused(part, options, random_dynamics, tmp_path):
    path = tmp_path / "m.uidd"
    save_model(Model(random_dynamics(DRAWN, 2, 0), DRAWN, Scaling.identity(2)), path)
    rewrite(path, lambda header, arrays: header["architecture"][part].update(options))
    with pytest.raises(InputError):
        load_model(path)


def test_the_header_is_text(model, path):
    first, second, _ = path.read_bytes().split(b"\n", 2)
    assert first.decode("ascii").startswith("uidd 1 ")
    header = json.loads(second)
    assert header["kind"] == "model" and header["coordinates"] == ["length", "µ angle"]
    assert header["architecture"]["diffusion"] == {"kind": "Triangular", "widths": [4], "activation": "tanh"}


def test_a_file_cut_short_anywhere_is_refused(path, tmp_path):
    content, cut = path.read_bytes(), tmp_path / "cut.uidd"
    for length in {0, 1, 7, 8, 71, 72, 73, len(content) - 1, *range(0, len(content), 97)}:
        cut.write_bytes(content[:length])
        refusal(cut)
    cut.write_bytes(content + b"\0")
    refusal(cut)


def test_a_flipped_bit_anywhere_is_refused(path, tmp_path):
    content, flipped = path.read_bytes(), tmp_path / "flipped.uidd"
    first_line = [(i, bit) for i in range(content.index(b"\n") + 1) for bit in range(8)]
    for position, bit in first_line + [(i, i % 8) for i in range(80, len(content), 13)]:
        damaged = bytearray(content)
        damaged[position] ^= 1 << bit
        flipped.write_bytes(damaged)
        refusal(flipped)


def test_a_newer_format_asks_for_an_upgrade(path):
    path.write_bytes(path.read_bytes().replace(b"uidd 1 ", b"uidd 2 ", 1))
    message = refusal(path)
    assert "has format 2" in message and "Upgrade" in message


def test_a_checkpoint_is_not_a_model(tmp_path):
    path = Container("checkpoint", {}, []).write(tmp_path / "c.uidd")
    assert refusal(path) == f"'{path}' holds a checkpoint, not a model."


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"hello",
        b"PK\x03\x04 1 2\n",
        b"uidd\n",
        b"uidd one abc\n",
        b"uidd " + b"9" * 5000 + b" x\n",
    ],
    ids=["empty", "newline", "text", "zip", "short", "words", "long number"],
)
def test_what_is_not_a_uidd_file_is_refused(content, tmp_path):
    (tmp_path / "x").write_bytes(content)
    refusal(tmp_path / "x")


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    assert refusal(tmp_path / "none") == f"There is no file '{tmp_path / 'none'}'."
    refusal(tmp_path)


@pytest.mark.parametrize(
    "head",
    [
        b"[1, 2]", b"null", b"{", b"\xff\xfe", b"{}", b'{"kind": "model"}', b'{"kind": "model", "arrays": 3}',
        b'{"kind": "model", "arrays": [[[2], "object"]]}', b'{"kind": "model", "arrays": [[[2], "float32"]]}',
        b'{"kind": "model", "arrays": [[[-1], "float32"]]}',
        b'{"kind": "model", "arrays": [[["a"], "float32"]]}',
        b'{"kind": "model", "arrays": [[[1' + b"0" * 30 + b'], "float32"]]}', b"[" * 100_000,
        b'{"kind": "model", "arrays": []}',
    ],
    ids=lambda head: head[:60].decode("latin1"),
)  # fmt: skip
def test_a_header_that_makes_no_sense_is_refused(head, tmp_path):
    refusal(raw(tmp_path / "m.uidd", head + b"\n"))


CHANGES = {
    "an array is missing": lambda header, arrays: arrays.pop(),
    "an array has another shape": lambda header, arrays: arrays.__setitem__(0, arrays[0][:-1]),
    "an array too many": lambda header, arrays: arrays.append(np.zeros(3, np.float32)),
    "weights are whole numbers": lambda header, arrays: arrays.__setitem__(0, arrays[0].astype(np.int32)),
    "no scaling": lambda header, arrays: header.pop("scaling"),
    "no scale": lambda header, arrays: header.__setitem__("scaling", {"center": [0, 0], "time": 1}),
    "scaling is a word": lambda header, arrays: header.__setitem__("scaling", "none"),
    "no direction": lambda header, arrays: header.pop("direction"),
    "anchors are words": lambda header, arrays: header.__setitem__("anchors", ["ab"]),
    "no architecture": lambda header, arrays: header.pop("architecture"),
    "an unknown option": lambda header, arrays: header["architecture"]["potential"].update(depth=3),
    "widths are words": lambda header, arrays: header["architecture"]["potential"].update(widths=["a"]),
    "a width of zero": lambda header, arrays: header["architecture"]["potential"].update(widths=[0]),
    "an unknown activation": lambda header, arrays: header["architecture"]["potential"].update(
        activation="sin"
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_header_and_arrays_that_do_not_fit_are_refused(change, path):
    rewrite(path, change)
    refusal(path)


@pytest.mark.parametrize("part", PART)
def test_an_unknown_kind_of_component_is_refused(part, path):
    rewrite(path, lambda header, arrays: header["architecture"][part].update(kind="Quantum"))
    assert "Quantum" in refusal(path)
