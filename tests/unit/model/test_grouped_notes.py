"""Many equal findings are one line."""

from polhode.formats.mjcf import read_mjcf
from polhode.formats.sdf import read_sdf
from polhode.model.errors import grouped


def test_up_to_three_stay_as_they_are_and_more_are_one_in_the_place_of_the_first():
    few = ["Joint 'a': no.", "Body 'x': what 'y' says.", "Joint 'b': no.", "A note."]
    assert grouped(few) == ["Joint 'a': no.", "Joint 'b': no.", "Body 'x': what 'y' says.", "A note."]
    many = [*few, "Joint 'c': no.", "Joint 'd': no.", "A note."]
    assert grouped(many) == ["Joint 'a', 'b', 'c', ... (4 of them): no.", "Body 'x': what 'y' says.", "A note."]


def test_sixty_five_equal_findings_of_a_file_are_one_line():
    body = '<body name="b{0}"><joint name="j{0}" type="ball" range="0 1" limited="true"/><geom size=".1"/></body>'
    text = f"<mujoco><worldbody>{''.join(map(body.format, range(65)))}</worldbody></mujoco>"
    model = read_mjcf(text)
    (note,) = (note for note in model.notes if "range" in note)
    assert note.startswith("Joint 'j0', 'j1', 'j2', ... (65 of them): its range is not read")
    assert sum("range" in finding for finding in model.report().findings) == 1


def test_sixty_five_inertias_that_no_body_has_are_one_line_of_the_report():
    thin = "<inertial><inertia><ixx>5</ixx></inertia></inertial>"
    links = "".join(f'<link name="l{k}">{thin}</link>' for k in range(65))
    report = read_sdf(f'<sdf><model name="m">{links}</model></sdf>').report()
    assert sum("principal moments" in finding for finding in report.findings) == 1
