// Decompresses LZMA, the format of the engine. The code of the engine repeats pieces that are far
// apart. LZMA finds these; gzip does not, because it looks back only 32 KB (its window). An LZMA
// file has a byte with the settings, the size of the window (4 bytes), the size of the content (8
// bytes, not used here), and a stream of bits. The stream is arithmetic code: the probability of
// each bit depends on the bits before it. The stream ends with a marker.

const SIGN = 0x80000000;
const states = (size) => new Uint16Array(size).fill(1024);
const lengths = () => ({ choice: states(2), low: states(128), middle: states(128), high: states(256) });

/**
 * Returns the content of a file.
 * @param {Uint8Array} packed the file, as `xz --format=lzma` writes it
 * @returns {Uint8Array}
 */
export function unpack(packed) {
  const settings = packed[0];
  const lc = settings % 9, lp = Math.floor(settings / 9) % 5, pb = Math.floor(settings / 45);
  if (packed.length < 18 || settings >= 225) throw new Error("the engine is damaged");

  // The state of the arithmetic decoder: the range, the code, and the position of the next byte.
  // The array has 32-bit numbers, so they wrap around as the format requires.
  const coder = new Int32Array([-1, 0, 18]);
  for (let at = 14; at < 18; at++) coder[1] = (coder[1] << 8) | packed[at];
  const normalise = () => {
    if ((coder[0] & 0xff000000) !== 0) return;
    coder[0] <<= 8;
    coder[1] = (coder[1] << 8) | packed[coder[2]++];
  };
  const bit = (model, at) => {
    const chance = model[at];
    const bound = Math.imul(coder[0] >>> 11, chance);
    let found = 0;
    if ((coder[1] ^ SIGN) < (bound ^ SIGN)) {
      coder[0] = bound;
      model[at] = chance + ((2048 - chance) >> 5);
    } else {
      coder[0] -= bound;
      coder[1] -= bound;
      model[at] = chance - (chance >> 5);
      found = 1;
    }
    normalise();
    return found;
  };
  const plain = (count) => {
    let value = 0;
    for (let k = 0; k < count; k++) {
      coder[0] >>>= 1;
      coder[1] -= coder[0];
      const low = coder[1] >> 31;
      coder[1] += coder[0] & low;
      normalise();
      value = (value << 1) + low + 1;
    }
    return value;
  };
  const number = (model, base, count) => {
    let value = 1;
    for (let k = 0; k < count; k++) value = (value << 1) | bit(model, base + value);
    return value - (1 << count);
  };
  const reversed = (model, base, count) => {
    let node = 1, value = 0;
    for (let k = 0; k < count; k++) {
      const next = bit(model, base + node);
      node = (node << 1) | next;
      value |= next << k;
    }
    return value;
  };
  const length = ({ choice, low, middle, high }, place) => {
    if (!bit(choice, 0)) return 2 + number(low, place << 3, 3);
    if (!bit(choice, 1)) return 10 + number(middle, place << 3, 3);
    return 18 + number(high, 0, 8);
  };

  const literals = states(0x300 << (lc + lp));
  const isMatch = states(192), isRepeat = states(12), isOther = states(12), isThird = states(12), isFourth = states(12);
  const isLong = states(192), slots = states(256), near = states(115), align = states(16);
  const matches = lengths(), repeats = lengths();
  let out = new Uint8Array(8 << 20);
  let at = 0, state = 0, first = 0, second = 0, third = 0, fourth = 0;
  for (;;) {
    if (coder[2] > packed.length + 4) throw new Error("the engine is damaged");
    if (at + 300 > out.length) {
      const larger = new Uint8Array(2 * out.length);
      larger.set(out);
      out = larger;
    }
    const place = at & ((1 << pb) - 1);
    if (!bit(isMatch, (state << 4) + place)) {
      const before = at > 0 ? out[at - 1] : 0;
      const base = 0x300 * (((at & ((1 << lp) - 1)) << lc) + (before >> (8 - lc)));
      let sign = 1;
      if (state >= 7) {
        let match = out[at - first - 1];
        while (sign < 0x100) {
          const expected = (match >> 7) & 1;
          match <<= 1;
          const next = bit(literals, base + ((1 + expected) << 8) + sign);
          sign = (sign << 1) | next;
          if (expected !== next) break;
        }
      }
      while (sign < 0x100) sign = (sign << 1) | bit(literals, base + sign);
      out[at++] = sign;
      state = state < 4 ? 0 : state < 10 ? state - 3 : state - 6;
      continue;
    }
    let count;
    if (bit(isRepeat, state)) {
      if (!bit(isOther, state)) {
        if (!bit(isLong, (state << 4) + place)) {
          state = state < 7 ? 9 : 11;
          if (first >= at) throw new Error("the engine is damaged");
          out[at] = out[at - first - 1];
          at++;
          continue;
        }
      } else {
        let distance = second;
        if (bit(isThird, state)) {
          distance = third;
          if (bit(isFourth, state)) {
            distance = fourth;
            fourth = third;
          }
          third = second;
        }
        second = first;
        first = distance;
      }
      count = length(repeats, place);
      state = state < 7 ? 8 : 11;
    } else {
      fourth = third;
      third = second;
      second = first;
      count = length(matches, place);
      state = state < 7 ? 7 : 10;
      const slot = number(slots, Math.min(count - 2, 3) << 6, 6);
      first = slot;
      if (slot >= 4) {
        const bits = (slot >> 1) - 1;
        first = (2 | (slot & 1)) << bits;
        if (slot < 14) first += reversed(near, first - slot, bits);
        else first = (first + (plain(bits - 4) << 4) + reversed(align, 0, 4)) | 0;
      }
      if (first === -1) return out.subarray(0, at);
    }
    if (first < 0 || first >= at) throw new Error("the engine is damaged");
    for (const end = at + count; at < end; at++) out[at] = out[at - first - 1];
  }
}
