import { given } from './given.js';

describe('what was given', () => {
  it('is all but what is undefined, in its order', () => {
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
