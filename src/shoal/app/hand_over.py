"""What leaves the house and what stays: files of a run, zips of them, and the same as commands.

To be given away are the release, its report, the dictionary of its labels, its certificate (the
signature is in it) and the public key. The job file stays: with the seed in it, whoever has the
table can repeat the run, and whoever has the seed knows more than a reader should. Hierarchies that
list values stay, too.
"""

from __future__ import annotations

import io
import os
import shlex
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import DataError, OptionError
from shoal.settings.files import INPUT_OPTIONS, Input, Output
from shoal.settings.job_file import format_job

if TYPE_CHECKING:
    from shoal.settings.job import Job


_DATE = (1980, 1, 1, 0, 0, 0)  # a zip tells nothing about when its files were made


class _Inside:
    """A file of the folder of a run, by its name there."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, files: RunFiles, owner: object) -> Path:
        return files.folder / self.name


@dataclass(frozen=True)
class RunFiles:
    """The files of one run, in a private folder of its own.

    Attributes:
        folder: where they are.
        suffix: format of the release.
        report: the report.
        certificate: the certificate; a signature is put into it.
        public_key: the public half of the key that the certificate was signed with.
        labels: the dictionary of labels that are short for a set.
        job: the job file, with its seed: private.
        groups: which row is in which group: private, and never handed over.
    """

    folder: Path
    suffix: str = "csv"
    report = _Inside("report.html")
    certificate = _Inside("certificate.json")
    public_key = _Inside("officer.pub")
    labels = _Inside("labels.csv")
    job = _Inside("job.toml")
    groups = _Inside("groups.npz")

    @property
    def release(self) -> Path:
        """The published table."""
        return self.folder / f"release.{self.suffix}"

    def output(self, said: Output) -> Output:
        """Return where a run writes, with what its owner says about it."""
        return Output(
            table=str(self.release),
            report=str(self.report),
            certificate=str(self.certificate),
            replace=True,
            escape_formulas=said.escape_formulas,
            sampling_fraction=said.sampling_fraction,
            title=said.title,
            owner=said.owner,
            purpose=said.purpose,
            language=said.language,
        )

    def public(self) -> dict[str, Path]:
        """Return what may be given away, by the name under which it is downloaded."""
        found = (self.release, self.labels, self.report, self.certificate, self.public_key)
        return {path.name: path for path in found if path.is_file()}


def portable_job(job: Job, files: RunFiles, name: str | None = None) -> tuple[Job, dict[str, Path]]:
    """Return the job of a run as it is saved elsewhere, and the hierarchy files it names.

    Outputs and hierarchies are named without folders: the file is put beside its table. The seed
    stays in it, so that the run can be repeated exactly.

    Args:
        job: as it was run.
        files: of the run.
        name: what the owner calls the table; its own path if not given.
    """
    from dataclasses import replace

    trees: dict[str, Path] = {}
    columns = {}
    for column, said in job.columns.items():
        if isinstance(said.hierarchy, Path):
            plain = free_name(said.hierarchy.name, trees)
            trees[plain] = said.hierarchy
            columns[column] = replace(said, hierarchy=Path("hierarchies") / plain)
        else:
            columns[column] = said
    source = {option: getattr(job.input, option) for option in INPUT_OPTIONS}
    if name is not None:
        source["path"] = name
    written = files.output(job.output)
    output = replace(
        written,
        table=files.release.name,
        report=files.report.name,
        certificate=files.certificate.name,
        replace=False,
    )
    return job.replaced(input=Input(**source), output=output, columns=columns), trees


def free_name(name: str, taken: dict[str, Path]) -> str:
    """Return a name that no other file has."""
    path, number, plain = Path(name), 2, name
    while plain in taken:
        plain, number = f"{path.stem}-{number}{path.suffix}", number + 1
    return plain


def public_zip(files: RunFiles) -> bytes:
    """Return what may be given away as one file.

    Raises:
        DataError: the files of the run are gone.
    """
    found = files.public()
    if files.release.name not in found:
        raise DataError("The files of this run are no longer there; run it again.")
    return zip_of({name: path.read_bytes() for name, path in found.items()})


def private_zip(job: Job, files: RunFiles, name: str | None = None) -> bytes:
    """Return what the owner keeps: the job file with its seed, and the hierarchies it names.

    The public key is in it, too, so that the commands of the page find it.
    """
    portable, trees = portable_job(job, files, name)
    content = {"job.toml": format_job(portable).encode()}
    if files.public_key.is_file():
        content[files.public_key.name] = files.public_key.read_bytes()
    for plain, path in trees.items():
        content[f"hierarchies/{plain}"] = path.read_bytes()
    return zip_of(content)


def zip_of(content: dict[str, bytes]) -> bytes:
    """Return files as one, which tells nothing about when they were made."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in content.items():
            entry = zipfile.ZipInfo(name, _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o600 << 16
            archive.writestr(entry, data)
    return made.getvalue()


def as_commands(files: RunFiles, *, key: str | None = None) -> list[str]:
    """Return the commands that do the same, to be typed beside the table and its job file."""
    release, certificate = files.release.name, files.certificate.name
    lines = ["shoal anonymize --job job.toml"]
    if key is not None:
        lines.append(f"shoal sign {certificate} --key {shlex.quote(key)}")
    trusted = "" if key is None else f" --public-key {files.public_key.name}"
    return [*lines, f"shoal verify {release} --certificate {certificate}{trusted}"]


def sign_run(
    files: RunFiles, key: Path, *, passphrase: str = "", new: bool = False, replace: bool = False
) -> str:
    """Sign the certificate of a run with a private key, and put its public half beside it.

    Args:
        files: of the run.
        key: the file of the private key.
        passphrase: what protects it; nothing does if it is empty.
        new: whether the key is made now; an existing file is never replaced.
        replace: whether a signature that is there may be replaced.

    Returns:
        The public key, in hexadecimal digits.

    Raises:
        ShoalError: the key cannot be read or made, or the certificate cannot be signed.
    """
    from shoal.io.keys import make_key_pair
    from shoal.report.certificate import sign

    if not files.certificate.is_file():
        raise OptionError("There is no certificate to sign yet; run the job first.")
    with _passphrase_file(passphrase, files.folder) as secret:
        if new:
            make_key_pair(key, secret)
        number = sign(files.certificate, key, passphrase=secret, replace=replace)
        _write_public_half(files.public_key, number)
    return number


def _write_public_half(path: Path, number: str) -> None:
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(number))
    path.write_bytes(key.public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo))


class _passphrase_file:  # noqa: N801 - used like a function
    """A private file that holds a passphrase for as long as it is needed."""

    def __init__(self, passphrase: str, folder: Path) -> None:
        self._passphrase, self._folder = passphrase, folder
        self._path: str | None = None

    def __enter__(self) -> str | None:
        if not self._passphrase:
            return None
        handle, self._path = tempfile.mkstemp(dir=self._folder)  # readable by its owner alone
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(self._passphrase + "\n")
        return self._path

    def __exit__(self, *_: object) -> None:
        if self._path is not None:
            Path(self._path).unlink(missing_ok=True)
