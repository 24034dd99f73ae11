"""Proves the judge: builds the server with one seeded fault at a time, and has each caught.

    python3 test/judge/prove.py [--runs 3] [--jobs N] [--clean N] [ID …]

`--clean N`: first, the unchanged build must be found sound N times in a row. Exit code 0: all of this holds.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def copy_tree(folder):
    """A copy of the sources, with the packages that are installed here."""
    tree = Path(folder) / "tree"
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".git", "node_modules", "*.bundle", "results"), symlinks=True)
    for modules in [ROOT / "node_modules", *ROOT.glob("packages/*/node_modules")]:
        os.symlink(modules, tree / modules.relative_to(ROOT))
    return tree


def build(tree):
    subprocess.run(["npm", "run", "build"], cwd=tree, check=True, capture_output=True)


def replace(tree, seeded):
    """Makes a fault. Returns the texts of before, by their files."""
    before = {}
    for change in seeded["replace"]:
        file = tree / change["file"]
        text = file.read_text()
        before.setdefault(file, text)
        if text.count(change["from"]) != 1:
            raise RuntimeError(f"{seeded['id']}: {change['file']} has its text {text.count(change['from'])} times")
        file.write_text(text.replace(change["from"], change["to"]))
    return before


def run_judge(tree, jobs):
    """Returns (sound, names of the invariants that are broken)."""
    command = [sys.executable, str(HERE), "--tree", str(tree), "--jobs", str(jobs)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 1) or "seed " not in done.stdout:
        return False, [f"the run broke off: {(done.stderr or done.stdout).strip().splitlines()[-1]}"]
    for kept in re.findall(r"the history is in (\S+)", done.stdout):
        shutil.rmtree(kept, ignore_errors=True)
    # With the first of each, which tells a true finding from a mistake of the judge.
    return done.returncode == 0, re.findall(r"^([a-z]+: \d+\n  .*)$", done.stdout, re.M)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=20_000)
    parser.add_argument("--clean", type=int, default=0)
    parser.add_argument("ids", nargs="*")
    options = parser.parse_args()
    all_seeded = json.loads((HERE / "seeded.json").read_text())
    chosen = [one for one in all_seeded if not options.ids or one["id"] in options.ids]
    missed = 0
    with tempfile.TemporaryDirectory(prefix="pumphouse-judge-") as folder:
        tree = copy_tree(folder)
        build(tree)
        for n in range(options.clean):
            is_sound, broken = run_judge(tree, options.jobs)
            print(f"unchanged, run {n + 1}: {'sound' if is_sound else '; '.join(broken)}", flush=True)
            missed += not is_sound
        for seeded in chosen:
            before = replace(tree, seeded)
            build(tree)
            for n in range(options.runs):
                is_sound, broken = run_judge(tree, options.jobs)
                if not is_sound:
                    break
            print(f"{seeded['id']}: {'MISSED' if is_sound else f'caught in run {n + 1}: ' + '; '.join(broken)}", flush=True)
            missed += is_sound
            for file, text in before.items():
                file.write_text(text)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
