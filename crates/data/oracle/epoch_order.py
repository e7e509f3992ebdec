"""The documented order of an epoch, written anew in plain Python (3.8 or later).

ChaCha with 8 rounds, key "seed (8 bytes, little-endian), then zeros", 64-bit
block counter from zero, 64-bit stream number = epoch; draws below a bound by
Lemire's method from successive 32-bit words; Fisher and Yates's shuffle from
the last place down. Prints the values in `src/order.rs`.
"""

import struct


def quarter(s, a, b, c, d):
    def rotate(x, n):
        return ((x << n) | (x >> (32 - n))) & 0xFFFFFFFF

    s[a] = (s[a] + s[b]) & 0xFFFFFFFF
    s[d] = rotate(s[d] ^ s[a], 16)
    s[c] = (s[c] + s[d]) & 0xFFFFFFFF
    s[b] = rotate(s[b] ^ s[c], 12)
    s[a] = (s[a] + s[b]) & 0xFFFFFFFF
    s[d] = rotate(s[d] ^ s[a], 8)
    s[c] = (s[c] + s[d]) & 0xFFFFFFFF
    s[b] = rotate(s[b] ^ s[c], 7)


def words(seed, stream):
    key = struct.unpack("<8I", struct.pack("<Q", seed) + bytes(24))
    block = 0
    while True:
        start = [
            *struct.unpack("<4I", b"expand 32-byte k"),
            *key,
            block & 0xFFFFFFFF,
            block >> 32,
            stream & 0xFFFFFFFF,
            stream >> 32,
        ]
        s = list(start)
        for _ in range(4):
            quarter(s, 0, 4, 8, 12)
            quarter(s, 1, 5, 9, 13)
            quarter(s, 2, 6, 10, 14)
            quarter(s, 3, 7, 11, 15)
            quarter(s, 0, 5, 10, 15)
            quarter(s, 1, 6, 11, 12)
            quarter(s, 2, 7, 8, 13)
            quarter(s, 3, 4, 9, 14)
        yield from ((a + b) & 0xFFFFFFFF for a, b in zip(s, start))
        block += 1


def below(draw, bound):
    threshold = (1 << 32) % bound
    while True:
        product = next(draw) * bound
        if (product & 0xFFFFFFFF) >= threshold:
            return product >> 32


def epoch_order(seed, epoch, rows):
    draw = words(seed, epoch)
    order = list(range(rows))
    for last in range(rows - 1, 0, -1):
        other = below(draw, last + 1)
        order[last], order[other] = order[other], order[last]
    return order


print(epoch_order(1, 0, 10))
print(epoch_order(7, 3, 50)[:10])
