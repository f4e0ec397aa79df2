"""What a verification says about how it was made is so for each of its checks."""

import pytest

from shoal.publish.verify import BESIDE, OWN_RULE, POPULATION, Check, Verification


def verified(*judges):
    checks = tuple(Check(f"p{i}", 2, 2, True, "Holds.", by) for i, by in enumerate(judges))
    return Verification(True, 2, 2, 1, 2, 0.5, 0, 0, checks)


def test_plain_checks_need_no_exception():
    assert "Except" not in verified("verification", "verification").how()


@pytest.mark.parametrize("judge", [BESIDE, OWN_RULE, POPULATION])
def test_what_cells_alone_cannot_tell_is_named_as_an_exception(judge):
    said = verified("verification", judge, judge).how()
    assert said.count("Except") == 1
    assert "Except p1, p2: " in said
