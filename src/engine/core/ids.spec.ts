import fc from 'fast-check';
import { UlidMinter } from '../../domain/ids.js';
import { decodeId, encodeId, mintedAtMs } from './ids.js';

describe('encoded job ids', () => {
  it('contain the time of a ULID, and no time of another text', () => {
    const id = new UlidMinter().mint(1_795_000_000_123);

    expect(mintedAtMs(encodeId(id) ?? Buffer.alloc(0))).toBe(1_795_000_000_123);
    expect(mintedAtMs(encodeId('text') ?? Buffer.alloc(0))).toBe(0);
  });

  it('are decoded to the same id, and differ for different ids', () => {
    const id = fc.oneof(
      fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/),
      fc.stringMatching(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/),
      fc.stringMatching(/^[A-Za-z0-9]{14,16}$/),
    );
    fc.assert(
      fc.property(id, id, (one, other) => {
        const [a, b] = [encodeId(one), encodeId(other)];
        expect(a && decodeId(a)).toBe(one);
        expect(b && decodeId(b)).toBe(other);
        if (one !== other) expect(a?.equals(b ?? Buffer.alloc(0))).toBe(false);
      }),
      { numRuns: 2_000 },
    );
  });

  it.each(['', '-x', '_x', 'a b', 'a/b', 'é', 'x'.repeat(129), 'a\0'])(
    'do not exist for the invalid id %j',
    (id) => {
      expect(encodeId(id)).toBeNull();
    },
  );
});
