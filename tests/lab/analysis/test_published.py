from lab.analysis import published


def test_table_4_has_the_papers_figures():
    lifo_pri = published.table4(1.4, "8q-lifo-pri")
    assert lifo_pri["completed"] == (30851, 187, 127, 87, 50)
    assert published.table4(0.85, "sq")["completed"] == (54480, 888, 792, 720, 648)
    sq = published.table4(1.4, "sq")
    assert sq["generated"] == (42029, None, None, None, None)
    assert sq["dropped"] == (5753, None, None, None, None)


def test_what_the_paper_has_not_is_not_made_up():
    assert published.table4(2.0, "sq") == {}
    assert published.table4(1.4, "always-lifo") == {}
    assert published.table4(0.85, "always-lifo") == {}
    assert published.table5(2.0, "sq") == {}
    assert published.table5(0.85, "always-lifo") == {}


def test_table_5_follows_from_table_4_over_browsing_requests():
    # design: Table 5 divides by 54,480. Two of the twelve differ by the paper's rounding.
    for policy in ("sq", "8q-af", "8q-lifo-pri"):
        for row in ("completed", "timed_out"):
            share = 100 * sum(published.table4(1.4, policy)[row]) / 54480
            assert abs(share - published.table5(1.4, policy)[row]) <= 0.13
