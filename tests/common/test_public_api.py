"""The names that users call: removing one needs a note in the changelog for one minor version."""

import gradone as gd

NAMES = """
Activation Algorithm Analysis BadData Chart Committee Estimate Experiment GradoneError Might
Monitor NotConverged OutOfRegime Panels Plan QuadraticForms Sample Sight Student Target TargetError
TargetSyntaxError TooLarge Tree __version__ analyze atlas cite compare draw inputs plan predict
probe run simulate study watch zoo
""".split()


def test_the_list_of_public_names_is_frozen():
    assert sorted(gd.__all__) == sorted(NAMES)


def test_every_public_name_exists_and_has_a_docstring():
    for name in NAMES:
        thing = getattr(gd, name)
        if name != "__version__":
            assert thing.__doc__, name


def test_an_unknown_name_is_an_attribute_error():
    assert not hasattr(gd, "sgn")


def test_rooms_show_their_public_functions():
    assert "alpha" in gd.theory.amp_thresholds.__doc__
    names = {
        "THEORIES", "amp_thresholds", "anisotropic_ridge", "first_stage", "first_stage_threshold",
        "gaussian_covariates", "gram_levels", "hitting_time", "label_weighted_edges",
        "learning_curve", "order_parameters", "phase_diagram", "power_law", "random_feature_ridge",
        "ridge_from", "scaling_law",
    }  # fmt: skip
    assert names <= set(dir(gd.theory))
    assert list(gd.theory.THEORIES)  # imports every module of the room
    assert all(callable(getattr(gd.theory, name)) for name in names - {"THEORIES"})
    assert not hasattr(gd.theory, "sgn")
    names = {
        "EscapeTable", "LinearStage", "Subspace", "checklist", "conditional_energies",
        "csq_tolerance", "escape", "escape_table", "mean_hessian",
    }  # fmt: skip
    assert set(dir(gd.analysis)) == names
    assert all(callable(getattr(gd.analysis, name)) for name in names)
    assert all(getattr(gd.analysis, name).__doc__ for name in names)
    assert not hasattr(gd.analysis, "sgn")
