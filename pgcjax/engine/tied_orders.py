"""Orders of documents that were not retrieved: all of few documents, others drawn.

Random numbers are numpy's Philox by seed, block of `BLOCK` orders and query, made on
the host: an order depends on the documents of its query alone, and the first of many
are those of few. All runs have the same ones, each of the documents that it lacks.
"""

import math
from itertools import islice, permutations
from typing import NamedTuple

import numpy as np
from jaxtyping import Int32

from pgcjax.judging.variants import BLOCK, generator
from pgcjax.kernels.peel_ties import DocumentOrder


class Listed(NamedTuple):
    """All orders of few documents.

    Attributes:
        orders: of m documents, `[block, m, documents]`; 0 beyond the last.
        number: how many there are of m documents; of more documents, how many are
            drawn.
    """

    orders: DocumentOrder
    number: Int32[np.ndarray, " m"]


def padded(n: int) -> int:
    """Round the number of orders in a block up, so that few shapes are compiled."""
    return -(-min(n, BLOCK) // 8) * 8


def blocks(n: int) -> range:
    """Number the blocks of n orders."""
    return range(-(-n // BLOCK))


def drawn(
    query: str, documents: int, size: int, *, seed: int, block: int
) -> DocumentOrder:
    """Draw a block of orders of all documents of a query.

    Args:
        query: its name.
        documents: how many it has.
        size: padded number, at least as many: padding stands behind, as it is.
        seed: of the random numbers.
        block: its number.
    """
    random = generator(seed, "orders", block, query).random((BLOCK, documents))
    document = np.tile(np.arange(size, dtype=np.int32), (BLOCK, 1))
    document[:, :documents] = random.argsort(axis=1, kind="stable")
    return _with_places(document)


def listed(n: int, block: int) -> Listed:
    """List a block of all orders of as many documents as have n orders at most.

    Orders of one number of documents follow each other as Python's `permutations` do.
    """
    most = next(m for m in range(1, n + 1) if math.factorial(m + 1) > n)
    number = [*map(math.factorial, range(most + 1)), n]
    shape = padded(n), most + 1, most
    place, document = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
    for m in range(2, most + 1):
        first = block * BLOCK
        listed_orders = islice(permutations(range(m)), first, first + shape[0])
        orders = np.array([*listed_orders], np.int32).reshape(-1, m)
        here = slice(len(orders)), m, slice(m)
        document[here], place[here] = orders, orders.argsort(axis=1)
    return Listed(DocumentOrder(place, document), np.array(number, np.int32))


def _with_places(document: Int32[np.ndarray, "orders n"]) -> DocumentOrder:
    place = np.empty_like(document)
    places = np.arange(document.shape[1], dtype=np.int32)
    np.put_along_axis(place, document, np.broadcast_to(places, place.shape), axis=1)
    return DocumentOrder(place, document)
