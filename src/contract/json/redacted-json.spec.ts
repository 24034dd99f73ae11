import { type JsonPath, parseJsonPath } from './json-path.js';
import { redactedJson } from './redacted-json.js';

const pathsOf = (...texts: string[]): JsonPath[] =>
  texts.map((text) => {
    const path = parseJsonPath(text);
    if (path === undefined) throw new Error(`${text} is no path`);
    return path;
  });
/** With X in the place of what is redacted. */
const redacted = (text: string, ...paths: string[]): string | undefined =>
  redactedJson(Buffer.from(text), pathsOf(...paths))
    ?.toString()
    .replaceAll('"[redacted by Pumphouse]"', 'X');

describe('a JSON path', () => {
  it.each([
    ['$', [], false],
    ['$.card.number', ['card', 'number'], false],
    ['$.a[*].b', ['a', { any: true }, 'b'], false],
    ['$.*', [{ any: true }], false],
    ["$['a b']['c']", ['a b', 'c'], false],
    [String.raw`$["a\"\u00e4"]['it\'s "x"']`, ['a"ä', 'it\'s "x"'], false],
    ['$[0].größe', [0, 'größe'], false],
    ['$..email', ['email'], true],
    ["$.a..['e-mail']", ['a', 'e-mail'], true],
  ])('is read: %s', (text, steps, isDeep) => {
    expect(parseJsonPath(text)).toEqual({ steps, isDeep });
  });

  it.each([
    ...['', 'card', '.card', '$card', '$.', '$..', '$...a', '$.a-b', '$.1', '$[', '$[]', '$[-1]', '$[01]'],
    ...['$[1:2]', '$[?@.a]', "$['a','b']", '$[ 0 ]', '$.a ', "$['a]", String.raw`$['\x']`, '$..a.b', '$..*'],
  ])('is refused: %s', (text) => {
    expect(parseJsonPath(text)).toBeUndefined();
  });
});

describe('redacted JSON', () => {
  it.each([
    ['{"a":1,"b":2}', ['$.a'], '{"a":X,"b":2}'],
    [
      '{ "n": 12345678901234567890, "a":\t{"x":[1]} ,"z":1.0}',
      ['$.a'],
      '{ "n": 12345678901234567890, "a":\tX ,"z":1.0}',
    ],
    ['{"a":1,"a":{"a":2},"b":3}', ['$.a'], '{"a":X,"a":X,"b":3}'],
    [String.raw`{"c\u0061rd":1,"card":2}`, ['$.card'], '{"c\\u0061rd":X,"card":X}'],
    ['{"l":[{"e":1,"f":2},{"e":3},4]}', ['$.l[*].e'], '{"l":[{"e":X,"f":2},{"e":X},4]}'],
    ['[[1,2],[3,4]]', ['$[1][0]'], '[[1,2],[X,4]]'],
    ['[1,"a",true,{"b":2}]', ['$[1]', '$[3].b'], '[1,X,true,{"b":X}]'],
    ['[1,2,[3,4],5]', ['$[*]'], '[X,X,X,X]'],
    ['{"0":1}', ['$[0]'], '{"0":1}'],
    ['[1]', ["$['0']"], '[1]'],
    ['{"a":{"e":1,"x":{"e":[2]}},"e":3}', ['$.a..e'], '{"a":{"e":X,"x":{"e":X}},"e":3}'],
    ['{"a":{"b":1,"c":2}}', ['$.a.b', '$.*.c'], '{"a":{"b":X,"c":X}}'],
    ['{"a":1}', ['$'], 'X'],
    [' "text" ', ['$.a', '$..a'], ' "text" '],
    [
      '{"__proto__":{"a":1},"constructor":2}',
      ['$.__proto__.a', '$.constructor'],
      '{"__proto__":{"a":X},"constructor":X}',
    ],
  ])('has all else as it was: %s by %j', (text, paths, expected) => {
    expect(redacted(text, ...paths)).toBe(expected);
  });

  it.each(['', '{', '{"a":1', '{"a":1}x', '{"a":1,}', "{'a':1}", 'NaN'])(
    'is none if it cannot be read: %s',
    (text) => {
      expect(redacted(text, '$.a')).toBeUndefined();
    },
  );

  it('is none beyond 512 levels, and with bytes that are no UTF-8', () => {
    const nested = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
    expect(redacted(nested(512), '$..b')).toBe(nested(512));
    expect(redacted(nested(513), '$..b')).toBeUndefined();
    expect(redactedJson(Buffer.from([0x22, 0xff, 0x22]), pathsOf('$.a'))).toBeUndefined();
  });
});
