"""Texts lose the names of this machine and paths of its files."""

from __future__ import annotations

import getpass
import platform
import socket

import pytest

from restride_measure.selftest.nameless import nameless


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/usr/lib/x.so: no such file", "<path>: no such file"),
        ("in /srv/a, /srv/b; (/srv/c) '/srv/d e'", "in <path>, <path>; (<path>) '<path>'"),
        (r"C:\Users\x\y.dll and \\server\share\z", "<path> and <path>"),
        ("D:/data/x and ~/y and ~other/z and file:///srv/x", "<path> and <path> and <path> and file:<path>"),
        ("12 GB/s, 1/3 of 2, a / b, and/or, 16/09", "12 GB/s, 1/3 of 2, a / b, and/or, 16/09"),
        ("reorder u8[2,3]{1,0} -> u8[2,3]{0,1}", "reorder u8[2,3]{1,0} -> u8[2,3]{0,1}"),
        (
            "mapped by somebody, Somebody's, x_somebody_y, somebodys",
            "mapped by <name>, <name>'s, x_<name>_y, somebodys",
        ),
        ("box-3 and BOX-3.lan; box-33", "<name> and <name>.lan; box-33"),
        ("/home/some body/x y/z.txt: no", "<path> y/z.txt: no"),
    ],
)
def test_texts_lose_paths_and_names(text, expected, monkeypatch):
    monkeypatch.setattr(socket, "gethostname", lambda: "box-3")
    monkeypatch.setattr(platform, "node", lambda: "")
    monkeypatch.setattr(getpass, "getuser", lambda: "somebody")
    environment = {"HOME": "/home/some body", "USER": "somebody"}
    assert nameless({"a": [text], "b": text}, ("b",), environment) == {"a": [expected], "b": text}
