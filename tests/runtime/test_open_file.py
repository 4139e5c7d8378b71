"""OpenFile: who has a descriptor, closes it, exactly once."""

import os

import pytest

from restride.runtime.open_file import OpenFile


@pytest.fixture
def fd():
    made = os.open(os.devnull, os.O_RDONLY)
    yield made
    if is_open(made):
        os.close(made)


def is_open(fd):
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


def test_it_is_closed_once_and_with_the_last_reference(fd):
    file = OpenFile(os.dup(fd))
    own = file.fd
    assert is_open(own)
    file.close()
    assert (file.fd, is_open(own)) == (-1, False)
    file.place[0] = fd
    del file
    assert not is_open(fd)
    OpenFile().close()


def test_what_is_released_is_the_callers(fd):
    file = OpenFile(fd)
    assert file.release() == fd
    del file
    assert is_open(fd)
