"""What a page may say is read strictly."""

import json

import pytest

from polhode.interact.messages import ACTIONS, LARGEST, Message, read


def test_messages_are_read():
    assert read('{"do": "play"}') == Message(action="play")
    assert read('{"do": "drag", "point": [1, 2.5, -3]}') == Message(action="drag", point=(1.0, 2.5, -3.0))
    assert read('{"do": "grab", "frame": 2, "point": [0, 0, 0]}').frame == 2
    assert read('{"do": "drop", "hand": 9}') == Message(action="drop", hand=9)
    assert read('{"do": "grab", "frame": 2, "point": [0, 0, 0], "hand": 3}').hand == 3
    assert read('{"do": "push", "point": [1, 0, 0], "grip": true}') == Message(
        action="push", point=(1.0, 0.0, 0.0), grip=True
    )
    assert read('{"do": "input", "name": "a", "value": -1e9}') == Message(action="input", name="a", value=-1e9)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not JSON"),
        ("[]", "an object"),
        ("3", "an object"),
        ("{}", "'do' is None"),
        ('{"do": "explode"}', "expected one of play"),
        ('{"do": ["play"]}', "expected one of play"),
        ('{"do": "play", "now": 1}', "expected nothing else, found 'now'"),
        ('{"do": "speed"}', "expected value, found 'nothing'"),
        ('{"do": "speed", "value": NaN}', "NaN is no number"),
        ('{"do": "speed", "value": -Infinity}', "-Infinity is no number"),
        ('{"do": "speed", "value": 1e999}', "a number within 1e+09"),
        ('{"do": "speed", "value": 1' + "0" * 400 + "}", "a number within 1e+09"),
        ('{"do": "speed", "value": true}', "a number within"),
        ('{"do": "speed", "value": "1"}', "a number within"),
        ('{"do": "speed", "value": 1, "value": 2}', "twice"),
        ('{"do": "engage", "name": 3}', "expected text"),
        ('{"do": "grab", "frame": -1, "point": [0, 0, 0]}', "place of a frame"),
        ('{"do": "grab", "frame": 1.0, "point": [0, 0, 0]}', "place of a frame"),
        ('{"do": "grab", "frame": true, "point": [0, 0, 0]}', "place of a frame"),
        ('{"do": "drag", "point": [0, 0]}', "three numbers"),
        ('{"do": "drag", "point": [0, 0, null]}', "three numbers"),
        ('{"do": "drag", "point": {"x": 0}}', "three numbers"),
        ('{"do": "drag", "point": [0, 0, 0], "hand": 10}', "a hand, 0 to 9"),
        ('{"do": "drag", "point": [0, 0, 0], "hand": true}', "a hand, 0 to 9"),
        ('{"do": "play", "hand": 1}', "expected nothing else, found 'hand'"),
        ('{"do": "push", "point": [0, 0, 0], "grip": 1}', "true or false"),
        ('{"do": "push", "point": [0, 0, 0]}', "expected point, grip"),
        ('{"do": "watch", "names": "a"}', "a list of names"),
        ('{"do": "watch", "names": [1]}', "a list of names"),
        ("[" * 4000, ""),
        (" " * (LARGEST + 1), "characters"),
        (b'{"do": "play"}', "found bytes"),
    ],
)
def test_what_is_no_message_is_refused(text, said):
    with pytest.raises(ValueError, match=r"^Message") as refused:
        read(text)
    assert said in str(refused.value)
    assert len(str(refused.value)) < 300


def test_every_action_can_be_done():
    from polhode.interact.aside import Aside
    from polhode.interact.table import Table

    values = {"text": "a", "number": 1, "place": 1, "point": [0, 0, 0], "names": ["a"], "switch": True}
    for action, fields in ACTIONS.items():
        asked = json.dumps({"do": action} | {key: values[kind] for key, kind in fields.items()})
        assert read(asked).action == action
        assert action in (*Aside.asked, "seen") or callable(getattr(Table, f"_{action}"))
