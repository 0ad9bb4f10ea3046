"""All of SBAC's figures and tables, in the order of the report.

Owns: the order. Must not know: what is in any of them.
"""

from lab.experiments.reproduction.exhibits import Exhibit
from lab.experiments.reproduction.sbac_admission_figures import AdmissionFigures
from lab.experiments.reproduction.sbac_cases import SEGMENTS_S, Cases
from lab.experiments.reproduction.sbac_day_figures import DayFigures
from lab.experiments.reproduction.sbac_overload_figures import OverloadFigures


def figures(cases: Cases) -> list[Exhibit]:
    """In the order of the paper, Table 1's mixture and the readings last."""
    overload, admission, day = OverloadFigures(cases), AdmissionFigures(cases), DayFigures(cases)
    return [
        overload.figure_2(),
        overload.figure_3(),
        overload.figure_4(),
        admission.figure_5(),
        admission.figure_6(),
        admission.figure_7(),
        admission.figure_8(),
        admission.figure_9(),
        day.figure_10(),
        *(day.figure_11_and_table_2(segment_s) for segment_s in SEGMENTS_S),
        overload.table_1_mixture(),
        overload.reading(),
    ]
