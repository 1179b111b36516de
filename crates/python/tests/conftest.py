"""On devices without 64-bit types, tests that need types which the device lacks are left out, with the error that says so."""

import re

import pytest

import vkarray as vk

REFUSED = re.compile(r"needs (i64|f64|f16)\b|does not compute (u?int64|float64|complex128)\b")


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    try:
        return (yield)
    except (TypeError, ValueError) as error:
        if all(vk._core.device_has_doubles_and_longs()) or not REFUSED.search(str(error)):
            raise
        pytest.skip(str(error).splitlines()[0])
