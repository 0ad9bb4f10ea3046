"""Durations as rounded text."""


def duration(real_s: float) -> str:
    """Return `40 s`, `3 min` or `1 h 20 min`."""
    if real_s < 90:
        return f"{max(1, round(real_s))} s"
    minutes = round(real_s / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02} min"
