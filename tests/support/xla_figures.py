"""The figures of XLA's document on tiled layouts, and random layouts that are small enough to draw."""

import random

from support.random_layouts import random_layout

from restride.cli import main

FIGURE_1 = "f32[3,5]{1,0:T(2,2)}"
FIGURE_2 = "f32[4,8]{1,0:T(2,4)(2,1)}"


def layouts(count, seed):
    rng = random.Random(seed)
    return [random_layout(rng, max_elements=120) for _ in range(count)]


def run(capsys, *arguments):
    code = main(["show", *map(str, arguments)])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


FIGURE_1_TEXT = """\
f32[3,5]{1,0:T(2,2)}
15 elements of 4 bytes in 96 bytes, 36 of them padding

      0    1     2    3     4    5
  ┏━━━━━━━━━━┳━━━━━━━━━━┳━━━━━━━━━━┓
0 ┃   0    1 ┃   4    5 ┃   8   ·9 ┃
1 ┃   2    3 ┃   6    7 ┃  10  ·11 ┃
  ┣━━━━━━━━━━╋━━━━━━━━━━╋━━━━━━━━━━┫
2 ┃  12   13 ┃  16   17 ┃  20  ·21 ┃
3 ┃ ·14  ·15 ┃ ·18  ·19 ┃ ·22  ·23 ┃
  ┗━━━━━━━━━━┻━━━━━━━━━━┻━━━━━━━━━━┛

memory, element after element, and the index that lies there
 0 ┃ 0,0  0,1  1,0  1,1 ┃ 0,2  0,3  1,2  1,3 ┃ 0,4    ·  1,4    · ┃
12 ┃ 2,0  2,1    ·    · ┃ 2,2  2,3    ·    · ┃ 2,4    ·    ·    · ┃
━ T(2,2): tiles of 4 elements   · padding, holds 0"""
