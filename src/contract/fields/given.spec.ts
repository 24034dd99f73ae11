import { given } from './given.js';

describe('given()', () => {
  it('omits undefined values, keeps null, and keeps the order', () => {
    const values = given<{ a: number; b?: number; c?: number | null; d?: string }>({
      ...{ a: 0, b: undefined, c: null, d: '' },
    });
    expect(Object.entries(values)).toEqual([
      ['a', 0],
      ['c', null],
      ['d', ''],
    ]);
  });
});
