import { parseQuery, wholeNumber } from './query.js';

describe('parseQuery', () => {
  it.each([
    ['', {}],
    ['a=1&b=2', { a: '1', b: '2' }],
    ['a=1&a=2', { a: '1' }],
    ['a', { a: '' }],
    ['a=', { a: '' }],
    ['a=b=c', { a: 'b=c' }],
    ['a=x+y%20z', { a: 'x y z' }],
    ['a=1;b=2&c=3', { c: '3' }],
    ['a=%zz&a=2', { a: '2' }],
    ['a=%ff', { a: '\u{fffd}' }],
    ['&&a=1&', { a: '1' }],
    ['__proto__=1', JSON.parse('{"__proto__":"1"}') as object],
  ])('reads %j', (text, query) => {
    expect(JSON.stringify(parseQuery(text))).toBe(JSON.stringify(query));
  });
});

describe('wholeNumber', () => {
  it.each(['', ' 1', '1 ', '+5', '-1', '1.5', '0x10', '1e3', 'abc', '4294967296', '9'.repeat(400), '１'])(
    'refuses %j',
    (text) => {
      expect(wholeNumber({ n: text }, 'n', 7, 4_294_967_295)).toBeUndefined();
    },
  );

  it('takes digits up to the largest', () => {
    expect(wholeNumber({ n: '4294967295' }, 'n', 7, 4_294_967_295)).toBe(4_294_967_295);
    expect(wholeNumber({ n: '007' }, 'n', 0, 10)).toBe(7);
  });

  it('falls back only when the name is not there', () => {
    expect(wholeNumber({}, 'n', 7, 10)).toBe(7);
  });
});
