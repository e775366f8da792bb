"""One file per paper: from kinematics to the terms of the equations of motion."""
