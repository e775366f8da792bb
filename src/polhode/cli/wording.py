"""Advice to those who write Python, as advice to those who type a command."""

from __future__ import annotations

import re

_WORDS = {
    r"Method ('\w+') (is unknown|has a fixed step|chooses)": r"--integrator \1 \2",
    r"found step=": "found --step ",
    r"^realtime: method is '([^']*)', expected": r"--integrator \1: expected",
    r"and method='(\w+)' stops at such": r"and --integrator \1 stops at such",
    r'Use method="moreau"': "Use --integrator moreau",
    r"^realtime: rate is (\S+), ": r"--rate \1: ",
    r"^export: step is (\S+), ": r"--step \1: ",
    r"^p(?=: there is no parameter)": "--p",
    r"^(rtol|atol|step|longest|states|seed|tolerance) is": r"--\1 is",
    r"^Methods (.*): expected two": r"--method \1: expected two",
    r"^(rtol|atol|longest)= is for": r"--\1 is for",
    r'give\s+method="dop853" without step=': "give --integrator dop853 without --step",
    r"Give atol=1e-12": "Give --atol 1e-12",
    r"Give step=1e-3": "Give --step 1e-3",
    r"Give t_end=, or wait": "Give --t, or wait",
    r"Give longest=, rtol= and atol=": "Give --longest, --rtol and --atol",
    r'try method="(\w+)"': r"try --integrator \1",
    r"larger rtol, atol": "larger --rtol, --atol",
    r"\bt_end is (\S+), expected a time after t0 = 0": r"--t is \1, expected more than 0",
    r"\boutput is (\S+), ": r"--every is \1, ",
    r"^tau(?=:| of )": "--tau",
    r"^(input|output)s(?=: )": r"--\1",
    r"^(active|independent|without)(?=: )": r"--\1",
    r"with q, u = assemble\(dynamics, q, u\)": "with --set and --guess",
    r", or name what holds with active=\[\.\.\.\]": ", or name what holds with --active",
    r"Move away, and close it with assemble\(dynamics, q, u\)": "Move away with --set and --guess",
    r"too large to print, see A, B, C, D": "too large to print: --json has them",
    r"a second there, see drift": "a second there; --json has the rates of all as drift",
    r"more notes like these, see notes": "more notes like these: --json has them",
    r"Give the joint quaternion=True, or another position": "Give another position with --set, or a quaternion",
    r"Start nearer to a closed state, keep less,": "Start nearer to a closed state with --guess, --set less,",
    r"or load\(\.\.\., floating='angles'\)": "or --floating --angles",
    r"Make them denser\.": "Make them denser with --every.",
    r"^limits=('\w+')": r"--limits \1",
    r'or load with limits="ignore"': "or give --limits ignore",
    r'limits="ignore" in load\(\.\.\.\) or Builder\(\.\.\.\) leaves': "--limits ignore leaves",
    r"load\(\.\.\., passive=True\) lets": "--passive lets",
    r'of the joints with limits="ignore"': "of the joints with --limits ignore",
    r", or skip this check with check=False": "",
    r"simulate\(\.\.\., \*\*model\.keyframe\(\"([^\"]*)\"\)\.start\(\)\)": r"simulate --keyframe '\1'",
    r"give switches=ph\.at\((\S+), engage=\.\.\., release=\.\.\.\)": r'give --at "\1: engage ..., release ..."',
    r"`traj\.animate` draws": "simulate --animate draws",
    r"Give output= its period": "Give --every its period",
}


def for_shell(text: str) -> str:
    """Name options instead of arguments."""
    for python, shell in _WORDS.items():
        text = re.sub(python, shell, text, flags=re.MULTILINE)
    return text
