import { exactJson } from './parse.js';

describe('JSON that is written again without a change', () => {
  it.each([
    ['a large text', '"12345678901234567890"'],
    ['a quoted quote before digits', '["\\\\\\"1e999", 9007199254740991]'],
    ['numbers that fit', '[-9007199254740991, 1.5e3, 0]'],
  ])('is read with %s', (_what, text) => {
    expect(exactJson(text)).toEqual(JSON.parse(text));
  });

  it.each(['12345678901234567890', '{"a":[1,-12345678901234567890]}', '[9007199254740993]'])(
    'is refused with a number that would be rounded: %s',
    (text) => {
      expect(() => exactJson(text)).toThrow(/^It has -?\d+, which would be changed: write it as text/);
    },
  );
});
