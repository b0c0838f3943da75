"""The smallest list that still fails (delta debugging; Zeller and Hildebrandt 2002)."""


def shrink(items, fails, attempts):
    """Takes items away, in halves, quarters and so on down to single ones, for as long as fails(rest) is true of what is left.
    Ends when no single item can be taken away, or after that many attempts: the answer fails in either case, if items do."""
    parts = 2
    while items and attempts > 0:
        size = -(-len(items) // parts)
        for begin in range(0, len(items), size):
            rest = items[:begin] + items[begin + size:]
            attempts -= 1
            if fails(rest):
                items, parts = rest, max(parts - 1, 2)
                break
            if attempts <= 0:
                break
        else:
            if size == 1:
                break
            parts = min(2 * parts, len(items))
    return items
