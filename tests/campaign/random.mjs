// The same seed gives the same numbers.

/// A function that returns numbers of [0, 1), and one for whole numbers below `n`.
export function createRandom(seed) {
    let state = Number(seed) >>> 0;
    function random() {
        state = (state + 0x6d2b79f5) >>> 0;
        let t = state;
        t = Math.imul(t ^ (t >>> 15), t | 1);
        t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
        return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
    }
    return { random, below: (n) => Math.floor(random() * n) };
}

/// A copy in a random order.
export function shuffled(list, below) {
    const out = [...list];
    for (let i = out.length - 1; i > 0; i -= 1) {
        const j = below(i + 1);
        [out[i], out[j]] = [out[j], out[i]];
    }
    return out;
}
