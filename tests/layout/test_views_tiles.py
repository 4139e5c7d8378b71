"""Views of tiles, padding and blocks by hand: their texts, and what is refused."""

from __future__ import annotations

import pytest

from restride.errors import DescriptorError, UnsupportedError
from restride.layout import TensorDesc, views

TILED = TensorDesc.parse("f32[4,4]{1,0:T(4,4)}")
ROWS = TensorDesc.parse("f32[8,6]{1,0:T(4,4)}")


@pytest.mark.parametrize(
    ("desc", "key", "text"),
    [
        # within one tile, strides say it; a row of two tiles is a view
        (TILED, (slice(1, None, 2), 3), "f32[2]{strides=(8),offset=7}"),
        (ROWS, (slice(1, None, 2), 3), "f32[4]{at=(1+2a,3),in=[8,6]{1,0:T(4,4)}}"),
        (ROWS, 2, "f32[6]{at=(2,a),in=[8,6]{1,0:T(4,4)}}"),
        (ROWS, (2, slice(None, 4)), "f32[4]{strides=(1),offset=8}"),
        (ROWS, (2, slice(3, 5)), "f32[2]{strides=(13),offset=11}"),
        (ROWS, (slice(None, None, 4), 0), "f32[2]{strides=(32)}"),
        (ROWS, (slice(4, 8), slice(0, 4)), "f32[4,4]{strides=(4,1),offset=32}"),
        (ROWS, (slice(0, 4), slice(0, 4)), "f32[4,4]{strides=(4,1)}"),
        (ROWS, (-1, -1), "f32[]{strides=(),offset=61}"),
        (ROWS, (slice(None, None, -1), None), "f32[8,1,6]{at=(7-a,c),in=[8,6]{1,0:T(4,4)}}"),
        (ROWS, (..., slice(None, None, -2)), "f32[8,3]{at=(a,5-2b),in=[8,6]{1,0:T(4,4)}}"),
        (ROWS, (slice(3, 3),), "f32[0,6]{1,0}"),
        (ROWS, (slice(5, 2), slice(1, None)), "f32[0,5]{1,0}"),
        (ROWS, ..., "f32[8,6]{at=(a,b),in=[8,6]{1,0:T(4,4)}}"),
        (
            TensorDesc.parse("f32[2,20,4,4]:nChw16c"),
            (0, slice(3, 19)),
            "f32[16,4,4]{at=(0,3+a,b,c),in=[2,20,4,4]:nChw16c}",
        ),
        (TensorDesc.parse("f32[2,20,4,4]:nChw16c"), (1, slice(16, 20)), "f32[4,4,4]{strides=(1,64,16),offset=768}"),
        (
            TensorDesc.parse("f32[2,3]{0,1:pad(3,5)=0}"),
            (slice(None), slice(1, None)),
            "f32[2,2]{strides=(1,3),offset=3}",
        ),
        (TensorDesc.parse("f32[]{:T(8)}"), None, "f32[1]{0}"),
        (TensorDesc.parse("f32[1,1]{1,0:T(8,8)}"), (slice(None), None), "f32[1,1,1]{2,1,0}"),
    ],
    ids=str,
)
def test_texts_of_views(desc, key, text):
    view = views.index(desc, key)
    assert str(view) == text
    assert TensorDesc.parse(text) == view
    assert (view.inner is None) == (view.strides is not None)


def test_rows_of_a_tiled_tensor_split_into_tiles():
    """Columns by 4 are (2, 4), a row of tiles and the place in one; 6 columns do not split so."""
    view = views.reshape(ROWS, (2, 4, 6))
    assert str(view) == "f32[2,4,6]{at=(4a+b,c),in=[8,6]{1,0:T(4,4)}}"
    assert views.reshape(view, (8, 6)) == views.index(ROWS, ...)
    assert views.reshape(ROWS, (8, 1, -1, 2)).sizes == (8, 1, 3, 2)
    flipped = views.reshape(views.index(ROWS, (slice(None, None, -1),)), (4, 2, 6))
    assert str(flipped) == "f32[4,2,6]{at=(7-2a-b,c),in=[8,6]{1,0:T(4,4)}}"
    strided = views.reshape(views.index(ROWS, (slice(None, None, 2),)), (2, 2, 6))
    assert str(strided) == "f32[2,2,6]{at=(4a+2b,c),in=[8,6]{1,0:T(4,4)}}"


@pytest.mark.parametrize(
    ("desc", "sizes", "message"),
    [
        (
            ROWS,
            (48,),
            "the layout does not allow such a view; rs.xp.reshape copies, for f32[8,6]{1,0:T(4,4)}",
        ),
        (ROWS, (6, 8), "sizes (6, 8) need a copy"),
        (ROWS, (16, 3), "sizes (16, 3) need a copy"),
    ],
)
def test_reshapes_that_are_refused(desc, sizes, message):
    with pytest.raises(DescriptorError) as caught:
        views.reshape(desc, sizes)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            (TILED, (2,), (3, 0), ((1, 0),)),
            "a view must not reach [3, 4] along axis 0 of size 4, for f32[4,4]{1,0:T(4,4)}",
        ),
        (
            (TILED, (2,), (0, 0), ((0, -1),)),
            "a view must not reach [-1, 0] along axis 1 of size 4, for f32[4,4]{1,0:T(4,4)}",
        ),
        ((TILED, (), (0, 4), ()), "a view must not reach [4, 4] along axis 1 of size 4, for f32[4,4]{1,0:T(4,4)}"),
        ((TILED, (3, 3), (0, 0), ((1, 0), (1, 0))), "a view must not reach [0, 4] along axis 0 of size 4"),
        (
            (TILED, (4,), (0, 0), ((1, 1),)),
            "axis 0 of a view must move along one axis of inner, got steps (1, 1), for f32[4,4]{1,0:T(4,4)}",
        ),
        (
            (TILED, (2,), (0,), ((1, 0),)),
            "numbers each: got starts (0,), steps ((1, 0),), for f32[4,4]{1,0:T(4,4)}",
        ),
        ((TILED, (2,), (0, 0), ((1,),)), "needs one step per axis"),
        (
            (TILED, (2, 2), (0, 0), ((1, 0),)),
            "a view of sizes (2, 2) needs one step per axis, and starts and steps of 2 numbers each",
        ),
        (
            (TILED, (2,), (0, 0), ((1.0, 0),)),
            "steps[0][0] must be an integer, got 1.0 (float), for f32[4,4]{1,0:T(4,4)}",
        ),
        ((TILED, (2,), (0, 0), None), "steps must be a sequence"),
        ((TILED, (-1,), (0, 0), ((1, 0),)), "size -1 of axis 0 must be 0 or more"),
    ],
    ids=str,
)
def test_views_that_cannot_be(arguments, message):
    with pytest.raises(DescriptorError) as caught:
        TensorDesc.view_of(*arguments)
    assert message in str(caught.value)


def test_views_look_at_tiles_only():
    """Of strides a view is strides; of a view it is a view of what that looks at. A text may look at a plain order."""
    for inner in (TensorDesc("f32", (4, 4), (9, 2)), views.permute(ROWS, (1, 0))):
        with pytest.raises(UnsupportedError) as caught:
            TensorDesc.view_of(inner, (2,), (0, 0), ((1, 0),))
        assert str(caught.value) == f"inner must be written by an order, tiles or a tag, got {inner}"
    for text in ("f32[2]{at=(1+2a,3),in=[4,4]{1,0}}", "f32[2]{at=(1+2a,3),in=[4,4]:ab}"):
        plain = TensorDesc.parse(text)
        assert str(plain) == text
        assert plain == TensorDesc("f32", (2,), (8,), 7)
    nested = views.index(
        views.index(ROWS, (slice(1, None), slice(1, None))), (slice(1, None, 3), slice(None, None, -2))
    )
    assert str(nested) == "f32[2,3]{at=(2+3a,5-2b),in=[8,6]{1,0:T(4,4)}}"


def test_an_axis_of_one_may_step_anywhere():
    """It never moves, so neither its reach nor the axes it steps along count."""
    view = TensorDesc.view_of(TILED, (1, 4), (3, 0), ((9, -9), (0, 1)))
    assert view == TensorDesc("f32", (1, 4), (0, 1), 12)
    assert TensorDesc.parse(str(view)) == view
    assert TensorDesc.view_of(TILED, (0, 2), (4, 0), ((1, 0), (0, 7))).numel == 0


def test_views_of_huge_tiles():
    huge = TensorDesc.xla("f32", (1 << 40, 1 << 40), tiles=[(8, 128), (2, 1)])
    view = views.index(huge, (slice(None, None, -3), slice(5, None, 1 << 20)))
    last = tuple(size - 1 for size in view.sizes)
    assert view.index_of(view.offset_of(last)) == last
    assert TensorDesc.parse(str(view)) == view
