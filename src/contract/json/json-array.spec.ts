import fc from 'fast-check';
import { splitArray } from './json-array.js';

const split = (text: string | Buffer, keep = 64): string[] | null =>
  splitArray(Buffer.from(text as string), keep)?.elements.map((element) => element.toString('latin1')) ??
  null;

describe('splitArray', () => {
  it.each([
    ['[]', []],
    [' [ ] \n', []],
    ['[1]', ['1']],
    ['[1.50, -0, 1e5, 12345678901234567890]', ['1.50', '-0', '1e5', '12345678901234567890']],
    ['[ {"a" : 1 ,\n "b":"\\u00e9"} , 2 ]', ['{"a" : 1 ,\n "b":"\\u00e9"}', '2']],
    ['["a,]", [[],{}], {"a":{"b":[1,{"c":null}]}}]', ['"a,]"', '[[],{}]', '{"a":{"b":[1,{"c":null}]}}']],
    ['[{"a":1,"a":2}]', ['{"a":1,"a":2}']],
    ['[true,false,null]', ['true', 'false', 'null']],
  ])('splits %s into the unchanged bytes of its elements', (text, elements) => {
    expect(split(text)).toEqual(elements);
  });

  it('keeps bytes in strings that are not UTF-8', () => {
    expect(split(Buffer.from([0x5b, 0x22, 0xff, 0xfe, 0x22, 0x5d]))).toEqual(['"\xff\xfe"']);
  });

  it.each([
    '',
    '[',
    ']',
    '[1',
    '[1,',
    '[1,]',
    '[,1]',
    '[1 2]',
    '[1] x',
    '[1]]',
    '{"a":1}',
    '"x"',
    'null',
    '[nul]',
    '[nulll]',
    '[01]',
    '[1.]',
    '[.5]',
    '[-]',
    '[1e]',
    '[+1]',
    '["\n"]',
    '["\\x"]',
    '["\\u12g4"]',
    '["\\u12',
    '["a]',
    '[{"a"}]',
    '[{"a":}]',
    '[{"a":1,}]',
    '[{a:1}]',
    '[{1:1}]',
    '[{"a":1]]',
    '[[}]',
    '\ufeff[1]',
    '[1]\u0000',
    "['a']",
    '[NaN]',
  ])('refuses %j', (text) => {
    expect(split(text)).toBeNull();
  });

  it('stops at the first element beyond a given number', () => {
    expect(splitArray(Buffer.from('[1,2,3,4,x'), 2)).toEqual({
      count: 3,
      elements: [Buffer.from('1'), Buffer.from('2')],
    });
  });

  it('accepts 10,000 levels and refuses more', () => {
    const deep = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
    expect(split(deep(10_000))).toHaveLength(1);
    expect(split(deep(10_001))).toBeNull();
    expect(split('['.repeat(1_000_000))).toBeNull();
    expect(split('[{"a":'.repeat(1_000_000))).toBeNull();
  });

  it('accepts random arrays that JSON.parse accepts', () => {
    fc.assert(
      fc.property(
        fc.array(fc.jsonValue(), { maxLength: 8 }),
        fc.constantFrom(undefined, 2),
        (values, indent) => {
          const elements = split(Buffer.from(JSON.stringify(values, null, indent)).toString('latin1'));
          expect(elements?.map((element) => JSON.parse(element) as unknown)).toEqual(
            values.map(
              (value) => JSON.parse(Buffer.from(JSON.stringify(value)).toString('latin1')) as unknown,
            ),
          );
        },
      ),
    );
  });

  it('accepts a random text exactly if JSON.parse reads it as an array', () => {
    const noise = fc.string({
      unit: fc.constantFrom(...Array.from('[]{},:"\\u1a0.eE+-tfn \n')),
      maxLength: 12,
    });
    fc.assert(
      fc.property(noise, (text) => {
        const array = `[${text}]`;
        expect(split(array) !== null).toBe(isArray(array));
      }),
      { numRuns: 2_000 },
    );
  });
});

function isArray(text: string): boolean {
  try {
    return Array.isArray(JSON.parse(text));
  } catch {
    return false;
  }
}
