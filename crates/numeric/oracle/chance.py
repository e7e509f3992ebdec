"""The draws of `Chance`, written anew in plain Python (3.8 or later).

ChaCha with 8 rounds, 64-bit block counter from zero, 64-bit stream number; the
three conventions of `src/chance.rs`. Prints the values of its first test.
"""

import struct

M32, M64 = (1 << 32) - 1, (1 << 64) - 1


def quarter(s, a, b, c, d):
    def rotate(x, n):
        return ((x << n) | (x >> (32 - n))) & M32

    for x, y, z, n in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
        s[x] = (s[x] + s[y]) & M32
        s[z] = rotate(s[z] ^ s[x], n)


COLUMNS = ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15))
DIAGONALS = ((0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14))


def chacha8(key, stream):
    block = 0
    while True:
        start = [
            *struct.unpack("<4I", b"expand 32-byte k"),
            *struct.unpack("<8I", key),
            block & M32,
            block >> 32,
            stream & M32,
            stream >> 32,
        ]
        s = list(start)
        for _ in range(4):
            for quad in (*COLUMNS, *DIAGONALS):
                quarter(s, *quad)
        yield from ((a + b) & M32 for a, b in zip(s, start))
        block += 1


def seed_then_zeros(seed):
    return struct.pack("<Q", seed) + bytes(24)


def words_of_pcg32(seed):
    key, state = b"", seed
    for _ in range(8):
        state = (state * 6364136223846793005 + 11634580027462260723) & M64
        x = (((state >> 18) ^ state) >> 27) & M32
        turn = state >> 59
        key += struct.pack("<I", ((x >> turn) | (x << (32 - turn))) & M32)
    return key


class Chance:
    def __init__(self, convention, seed, stream):
        self.convention = convention
        key = words_of_pcg32(seed) if convention == "learner" else seed_then_zeros(seed)
        self.words = chacha8(key, stream)

    def next_64(self):
        low = next(self.words)
        return low | next(self.words) << 32

    def below(self, bound):
        while True:
            if self.convention == "plan":
                draw = self.next_64()
                if draw < M64 - M64 % bound:
                    return draw % bound
            else:
                bits = 32 if self.convention == "rows" else 64
                draw = next(self.words) if bits == 32 else self.next_64()
                if (draw * bound) % (1 << bits) >= (1 << bits) % bound:
                    return draw * bound >> bits

    def shuffled(self, count):
        items = list(range(count))
        if self.convention == "learner":
            swaps = ((i, i + self.below(count - i)) for i in range(count))
        else:
            swaps = ((i, self.below(i + 1)) for i in range(count - 1, 0, -1))
        for a, b in swaps:
            items[a], items[b] = items[b], items[a]
        return items


for convention in ("plan", "rows", "learner"):
    for seed, stream in ((1, 0), (0xFEDCBA9876543210, 3 << 60 | 5)):
        chance = Chance(convention, seed, stream)
        shuffled = chance.shuffled(12)
        # A bound that rejects about half of all 32-bit draws.
        below = [chance.below(0x80000001) for _ in range(3)]
        # After an odd number of 32-bit words, 64 bits straddle them.
        print(f"({convention!r}, {seed:#x}, {stream:#x}): {shuffled}, {below}, {chance.next_64():#x}")
