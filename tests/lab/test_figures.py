"""What figures of many policies look like."""

import matplotlib.pyplot as plt

from lab.experiments.figures import LABELS_INSIDE, finish, style_of


def test_no_two_of_many_policies_look_alike():
    styles = [style_of(number) for number in range(24)]
    assert len({(colour, dash) for colour, _, dash in styles}) == 24
    assert len({(colour, marker) for colour, marker, _ in styles}) == 24


def test_a_long_legend_is_beside_the_lines():
    def legend_of(lines):
        figure, axes = plt.subplots(layout="constrained")
        for number in range(lines):
            axes.plot([0, 1], label=f"{number}")
        finish(axes)
        figure.canvas.draw()
        left = axes.get_legend().get_window_extent().x0
        edge = axes.get_window_extent().x1
        plt.close(figure)
        return left >= edge

    assert not legend_of(LABELS_INSIDE)
    assert legend_of(LABELS_INSIDE + 1)
