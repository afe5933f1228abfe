#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Count the page table entries that both ways of choosing an order read.

A model, not the kernel: lists of booleans stand for tables. Prints what
fault-order-reads.txt holds; the random numbers are seeded.
"""
import random

ORDERS = range(2, 9)


def from_the_top(table, index, orders):
    """The kernel as it is: (order, entries read)."""
    read = 0
    for order in sorted(orders, reverse=True):
        first = index >> order << order
        for entry in table[first:first + (1 << order)]:
            read += 1
            if entry:
                break
        else:
            return order, read
    return 0, read


def outward(table, index, orders):
    """The outward scan: (order, entries read)."""
    read = best = 0
    start = end = index
    for order in sorted(orders):
        first, last = index >> order << order, (index >> order) + 1 << order
        for entry in table[first:start] + table[end:last]:
            read += 1
            if entry:
                return best, read
        start, end, best = first, last, order
    return best, read


def compare(table, index, orders):
    """(order, entries read from the top, entries read outward, same answer)"""
    (order, before), (other, after) = (scan(table, index, orders)
                                       for scan in (from_the_top, outward))
    return order, before, after, order == other


def main():
    random.seed(1)
    count = worse = different = before = after = 0
    for round_ in range(2400):
        sparse = 2 << round_ % 9
        table = [random.randrange(sparse) == 0 for _ in range(512)]
        for _ in range(300):
            index = random.randrange(512)
            kept, table[index] = table[index], False
            orders = [order for order in ORDERS if random.random() < .6]
            _, top, out, same = compare(table, index, orders)
            table[index] = kept
            count, worse, different = count + 1, worse + (out > top), different + (not same)
            before, after = before + top, after + out
    print(f"random: {count} worse {worse} different {different} reads {before} {after}")

    # The last page of every 32 KB is present; each other one is faulted in turn.
    table = [page % 8 == 7 for page in range(512)]
    faults = before = after = 0
    for page in range(512):
        if table[page]:
            continue
        order, top, out, _ = compare(table, page, ORDERS)
        faults, before, after = faults + 1, before + top, after + out
        first = page >> order << order
        table[first:first + (1 << order)] = [True] * (1 << order)
    print(f"every 8th present: {faults} faults, reads {before} {after} "
          f"ratio {before / after:.2f}")


if __name__ == "__main__":
    main()
