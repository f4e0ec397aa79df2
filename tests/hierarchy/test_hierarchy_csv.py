"""Hierarchy files in and out."""

from __future__ import annotations

import io

import pytest

from shoal.errors import HierarchyError, OptionError
from shoal.hierarchy import Taxonomy

TREE = Taxonomy.from_nested(
    {"Asia": ["India", "Iran"], "America": {"North": ["USA"], "South": ["Peru"]}, "Moon": None}
)


def read(text, **options):
    return Taxonomy.from_csv(io.StringIO(text), **options)


@pytest.mark.parametrize("delimiter", [";", ",", "\t", "|"])
def test_what_is_written_is_read_back_unchanged(tmp_path, delimiter):
    path = tmp_path / "tree.csv"
    TREE.to_csv(path, delimiter=delimiter)
    assert Taxonomy.from_csv(path, delimiter=delimiter) == TREE
    if delimiter != "|":
        assert Taxonomy.from_csv(path) == TREE


@pytest.mark.parametrize("delimiter", [";", ","])
@pytest.mark.parametrize("header", [None, True])
def test_a_header_is_skipped(delimiter, header):
    out = io.StringIO("Land;Region;Continent;All\n".replace(";", delimiter))
    out.seek(0, io.SEEK_END)
    TREE.to_csv(out, delimiter=delimiter)
    assert read(out.getvalue(), header=header) == TREE


def test_without_a_header_the_first_line_is_a_leaf():
    text = "a;*\nb;*\n"
    assert read(text).leaf_labels == ("a", "b")
    assert read(text, header=False).leaf_labels == ("a", "b")
    assert read(text, header=True).leaf_labels == ("b",)


def test_a_first_line_that_shares_a_label_is_a_wrong_leaf_and_no_header():
    with pytest.raises(HierarchyError, match=r"2 roots \(\(line 1, cell 3\), .*header=True"):
        read("India;Asia;All\nIran;Asia;*\nUSA;America;*\n")


def test_an_explicit_header_choice_overrides_the_guess():
    with pytest.raises(HierarchyError, match="2 roots") as caught:
        read("value;level\na;*\nb;*\n", header=False)
    assert "header=True" not in str(caught.value)


def test_an_arx_file_with_repeated_shallow_leaves_and_suppressed_tops_is_read():
    tree = read("47918;4791*;479**;*\n47919;4791*;479**;*\nunknown;unknown;*;*\n")
    assert tree.to_paths()[2] == ("unknown", "unknown", "unknown", "*")
    assert tree.tree_height == 3


def test_commas_inside_labels_do_not_win_over_semicolons():
    assert read("1;[1, 2];*\n2;[1, 2];*\n").labels == ("1", "2", "[1, 2]", "*")


def test_quoted_labels_byte_order_mark_windows_lines_and_blank_lines_are_read(tmp_path):
    path = tmp_path / "tree.csv"
    path.write_bytes('\ufeff"a;1";A;*\r\n\r\n"say ""b""";A;*\r\n'.encode())
    assert Taxonomy.from_csv(path).leaf_labels == ("a;1", 'say "b"')


def test_ragged_rows_are_named_with_both_lines():
    with pytest.raises(HierarchyError, match=r"2 cells in line 4 but 3 cells in line 1"):
        read("a;A;*\nb;A;*\n\nc;*\n")


def test_line_numbers_count_the_header():
    with pytest.raises(HierarchyError, match=r"A leaf is listed twice \(lines 2 and 4\)"):
        read("Value;Top\na;*\nb;*\na;*\n")


@pytest.mark.parametrize("text", ["", "\n\n", "\ufeff"])
def test_an_empty_file_says_what_to_write(text):
    with pytest.raises(HierarchyError, match="is empty: write one line"):
        read(text)


def test_a_header_without_leaves_is_an_error():
    with pytest.raises(HierarchyError, match="holds a header and no leaf"):
        read("value;level\n", header=True)


def test_bytes_that_are_not_utf_8_are_named_with_file_and_line(tmp_path):
    path = tmp_path / "latin.csv"
    path.write_bytes("a;*\nb;*\nKöln;*\n".encode("cp850"))
    with pytest.raises(HierarchyError, match=r"latin\.csv' is not UTF-8 text \(line 3\)"):
        Taxonomy.from_csv(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(HierarchyError, match=r"nowhere\.csv' cannot be read: No such file"):
        Taxonomy.from_csv(tmp_path / "nowhere.csv")


def test_an_unclosed_quote_is_named_with_its_line():
    with pytest.raises(HierarchyError, match=r"cannot be parsed \(line 2\)"):
        read('a;*\n"b;*', delimiter=";")


@pytest.mark.parametrize("delimiter", ["", ";;", '"', "\n"])
def test_a_delimiter_is_one_usable_character(delimiter, tmp_path):
    with pytest.raises(OptionError, match="one character"):
        read("a;*\n", delimiter=delimiter)
    with pytest.raises(OptionError, match="one character"):
        TREE.to_csv(tmp_path / "tree.csv", delimiter=delimiter)
    assert not list(tmp_path.iterdir())


def test_a_file_that_cannot_be_written_leaves_nothing_behind(tmp_path):
    (tmp_path / "tree.csv").mkdir()
    with pytest.raises(HierarchyError, match="cannot be written"):
        TREE.to_csv(tmp_path / "tree.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["tree.csv"]
