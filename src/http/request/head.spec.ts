import type { IncomingMessage } from 'node:http';
import { leftOutOf, parseQuery, sentToken, wholeInt64, wholeNumber } from './head.js';

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
  ])('reads the query %j', (text, query) => {
    expect(JSON.stringify(parseQuery(text))).toBe(JSON.stringify(query));
  });
});

describe('leftOutOf', () => {
  it.each([
    ['a=%ff', ['a=%ff']],
    ['%ff=1', ['%ff=1']],
    ['a=1&a=%c3%28', ['a=%c3%28', 'a']],
    ['a=%EF%BF%BD', []],
    ['a=%c3%bc', []],
  ])('has what is not UTF-8 in the query %s', (text, parts) => {
    expect([...leftOutOf(parseQuery(text)).keys()]).toEqual(parts);
  });
});

describe('wholeNumber', () => {
  it.each(['', ' 1', '1 ', '+5', '-1', '1.5', '0x10', '1e3', 'abc', '4294967296', '9'.repeat(400), '１'])(
    'refuses the text %j',
    (text) => {
      expect(wholeNumber({ n: text }, 'n', 7, 4_294_967_295)).toBeUndefined();
    },
  );

  it('accepts digits up to the given maximum, also with leading zeros', () => {
    expect(wholeNumber({ n: '4294967295' }, 'n', 7, 4_294_967_295)).toBe(4_294_967_295);
    expect(wholeNumber({ n: '007' }, 'n', 0, 10)).toBe(7);
  });

  it.each<[string, number | undefined]>([
    ['1', 1],
    ['11', 10],
    ['9223372036854775807', 10],
    ['0009223372036854775807', 10],
    ['9223372036854775808', undefined],
    ['99999999999999999999', undefined],
    ['9'.repeat(400), undefined],
    ['-1', undefined],
  ])(
    'limits %s to the maximum, and refuses it if Go cannot read it as a number of 64 bits',
    (text, value) => {
      expect(wholeInt64({ n: text }, 'n', 7, 10)).toBe(value);
    },
  );

  it('returns the default if the parameter is missing', () => {
    expect(wholeNumber({}, 'n', 7, 10)).toBe(7);
  });
});

describe('the token of a request', () => {
  const NATIVE = '/v1/:namespace/jobs';
  it.each<[string, string, Record<string, string>, string, string]>([
    ['the header', NATIVE, { 'x-token': 'a', authorization: 'Bearer b' }, 'token=c', 'a'],
    ['a bearer token', NATIVE, { authorization: 'Bearer b' }, 'token=c', 'b'],
    ['a bearer token in any case', NATIVE, { 'x-token': '', authorization: 'bearer  pool:b ' }, '', 'pool:b'],
    ['the query', NATIVE, {}, 'token=c&token=d', 'c'],
    ['the query beside other credentials', NATIVE, { authorization: 'Basic YTpi' }, 'token=c', 'c'],
    ['no bearer token of two words', NATIVE, { authorization: 'Bearer b c' }, '', ''],
    [
      'no bearer token of a proxy in front of lmstfy',
      '/api/:namespace/:queue',
      { authorization: 'Bearer b' },
      '',
      '',
    ],
    ['no header and no query', NATIVE, {}, '', ''],
  ])('is read from %s', (_what, route, headers, query, token) => {
    expect(sentToken({ headers } as unknown as IncomingMessage, parseQuery(query), route)).toBe(token);
  });
});
