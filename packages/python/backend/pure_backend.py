"""Build backend of this package (PEP 517 and PEP 660). It needs nothing but Python: ``pip install`` works without a network.

It reads the keys of ``[project]`` in pyproject.toml that the package has; their values are written as Python writes them, too.
"""

import ast
import base64
import gzip
import hashlib
import io
import re
import tarfile
import zipfile
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Tuple

ROOT = Path(__file__).resolve().parent.parent
#: The least that a zip file can say: the same files make the same wheel.
EPOCH = (1980, 1, 1, 0, 0, 0)
WHEEL = "Wheel-Version: 1.0\nGenerator: pure_backend\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
#: Keys of ``[project]``, and the fields of the metadata that they become.
FIELDS = {
    "description": "Summary",
    "license": "License-Expression",
    "requires-python": "Requires-Python",
    "keywords": "Keywords",
    "classifiers": "Classifier",
}
#: Keys that other parts of the metadata are made of.
OTHER_KEYS = {"name", "version", "readme", "license-files"}

Settings = Optional[Mapping[str, Any]]
Files = List[Tuple[str, bytes]]


def build_wheel(wheel_directory: str, config_settings: Settings = None, metadata_directory: Optional[str] = None) -> str:
    """Makes the wheel. Returns its file name."""
    source = ROOT / "src"
    paths = sorted(path for path in source.rglob("*") if path.suffix == ".py" or path.name == "py.typed")
    return write_wheel(wheel_directory, [(name_below(source, path), path.read_bytes()) for path in paths])


def build_editable(wheel_directory: str, config_settings: Settings = None, metadata_directory: Optional[str] = None) -> str:
    """Makes a wheel that leads to this folder, for ``pip install -e``. Returns its file name."""
    return write_wheel(wheel_directory, [("pumphouse.pth", f"{ROOT / 'src'}\n".encode())])


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    """Makes the archive of the sources. Returns its file name."""
    project = read_project()
    base = f"{project['name']}-{project['version']}"
    kinds = {".py", ".md", ".toml", ".typed"}
    paths = [path for path in ROOT.rglob("*") if path.suffix in kinds or path.name in ("LICENSE", "py.typed")]
    files = [(name_below(ROOT, path), path.read_bytes()) for path in sorted(paths) if is_source(path)]
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, data in [*files, ("PKG-INFO", metadata_of(project).encode())]:
            entry = tarfile.TarInfo(f"{base}/{name}")
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    path = Path(sdist_directory, f"{base}.tar.gz")
    path.write_bytes(gzip.compress(archive.getvalue(), mtime=0))
    return path.name


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: Settings = None) -> str:
    """Writes the metadata alone. Returns the name of its folder."""
    project = read_project()
    folder = Path(metadata_directory, info_folder(project))
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in info_files(project):
        file = folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(data)
    return folder.name


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def write_wheel(directory: str, files: Files) -> str:
    project = read_project()
    info = info_folder(project)
    whole = [*files, *((f"{info}/{name}", data) for name, data in info_files(project))]
    record = "".join(f"{name},sha256={digest_of(data)},{len(data)}\n" for name, data in whole)
    whole.append((f"{info}/RECORD", f"{record}{info}/RECORD,,\n".encode()))
    path = Path(directory, f"{project['name']}-{project['version']}-py3-none-any.whl")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in whole:
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o100644 << 16
            wheel.writestr(entry, data)
    return path.name


def info_folder(project: Mapping[str, Any]) -> str:
    return f"{project['name']}-{project['version']}.dist-info"


def info_files(project: Mapping[str, Any]) -> Files:
    licenses = [(f"licenses/{name}", (ROOT / name).read_bytes()) for name in project["license-files"]]
    return [("METADATA", metadata_of(project).encode()), ("WHEEL", WHEEL.encode()), *licenses]


def metadata_of(project: Mapping[str, Any]) -> str:
    """Core metadata, version 2.4."""
    lines = ["Metadata-Version: 2.4", f"Name: {project['name']}", f"Version: {project['version']}"]
    for key, field in FIELDS.items():
        value = project.get(key, [])
        lines += [f"{field}: {one}" for one in (value if isinstance(value, list) else [value])]
    lines += [f"License-File: {name}" for name in project["license-files"]]
    lines.append("Description-Content-Type: text/markdown")
    readme = Path(ROOT, project["readme"]).read_text(encoding="utf-8")
    return "\n".join([*lines, "", readme])


def read_project() -> Dict[str, Any]:
    """The table ``[project]``.

    Raises:
        ValueError: it has a key or a value that this backend does not know.
    """
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    table = re.search(r"^\[project\]\n(.*?)(?=^\[|\Z)", text, re.MULTILINE | re.DOTALL)
    pairs = re.findall(r"^([a-z-]+) = (.*?)\n(?=[a-z-]+ = |\n|\Z)", table.group(1) if table else "", re.MULTILINE | re.DOTALL)
    project = {key: ast.literal_eval(value) for key, value in pairs}
    unknown = set(project) - set(FIELDS) - OTHER_KEYS
    if unknown or not OTHER_KEYS <= set(project):
        raise ValueError(f"pyproject.toml: [project] has {sorted(project)}: not what backend/pure_backend.py reads")
    return project


def is_source(path: Path) -> bool:
    """Hidden folders may be environments of a developer."""
    parts = path.relative_to(ROOT).parts
    return parts[0] in ("backend", "src", "test") or len(parts) == 1


def name_below(folder: Path, path: Path) -> str:
    return path.relative_to(folder).as_posix()


def digest_of(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
