import fc from 'fast-check';
import { Optional } from '../fields/field.js';
import { AnyJson, JsonAsWritten, Parts } from '../fields/kinds.js';
import { jsonOf } from '../request/json-body.js';
import { eachMember, elementsOf, jsonOfTexts, JsonText } from './json-text.js';

const membersOf = (text: string): [string, string][] => {
  const members: [string, string][] = [];
  eachMember(text, (name, value) => members.push([name, value]));
  return members;
};

describe('JSON as it was written', () => {
  it.each<[string, [string, string][]]>([
    ['{}', []],
    [' { } ', []],
    ['{"a":1}', [['a', '1']]],
    [
      ' {\n"a" : [ 1 , { "b" : "]}" } ] , "c":"\\"}" }\n',
      [
        ['a', '[ 1 , { "b" : "]}" } ]'],
        ['c', '"\\"}"'],
      ],
    ],
    [
      '{"a\\u0062\\"":-1.50e+2,"":null}',
      [
        ['ab"', '-1.50e+2'],
        ['', 'null'],
      ],
    ],
    [
      '{"a":"\\\\","b":"\\\\\\"","c":[]}',
      [
        ['a', '"\\\\"'],
        ['b', '"\\\\\\""'],
        ['c', '[]'],
      ],
    ],
    [
      '{"a":1,"a":2}',
      [
        ['a', '1'],
        ['a', '2'],
      ],
    ],
  ])('has members: %s', (text, members) => {
    expect(membersOf(text)).toEqual(members);
  });

  it('has members and elements as the parser has them, whatever they are', () => {
    const blanks = fc.constantFrom(undefined, 1, '\t', ' \n');
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), blanks, (object, indent) => {
        const text = JSON.stringify(object, null, indent);
        const members = membersOf(text).map(([name, value]): [string, unknown] => [name, JSON.parse(value)]);
        expect(members).toEqual(Object.entries(JSON.parse(text) as object));
      }),
    );
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), blanks, (list, indent) => {
        const text = JSON.stringify(list, null, indent);
        expect(elementsOf(text).map((one) => JSON.parse(one) as unknown)).toEqual(JSON.parse(text));
      }),
    );
  });

  it('goes through what is long or deep in one pass', () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const long = `"${'\\\\'.repeat(500_000)}"`;
    const blank = ' '.repeat(1_000_000);
    expect(membersOf(`{"a":${deep},"b":${long},"c":${blank}1}`).map(([name]) => name)).toEqual([
      'a',
      'b',
      'c',
    ]);
  });

  it('is written into answers as it is, in ASCII', () => {
    const text = '{ "n":\n12345678901234567890, "t": "ä\u{1f600}\\n\u007f", "n":1.0 }';
    const json = jsonOfTexts({ a: [new JsonText(text)], b: 'ü', c: new JsonText('null') });
    expect(json).toBe(
      '{"a":[{ "n": 12345678901234567890, "t": "\\u00e4\\ud83d\\ude00\\n\\u007f", "n":1.0 }],"b":"\\u00fc","c":null}',
    );
    expect(jsonOfTexts({ b: 'ü' })).toBe('{"b":"\\u00fc"}');
  });
});

class Item {
  @Optional() @JsonAsWritten('') data?: unknown;
  @Optional() @AnyJson('') other?: unknown;
}
class Body extends Item {
  @Optional() @Parts('', () => Item, 3) items?: Item[];
}

describe('a body of which something stays as it was written', () => {
  const read = (text: string): unknown => jsonOf(Buffer.from(text), Body);

  it('has texts where its class says so, and values elsewhere', () => {
    expect(
      read('{"data": {"a":1.0} ,"other":1.0,"items":[{"data":12345678901234567890},{"other":[1.0]}]}'),
    ).toEqual({
      data: new JsonText('{"a":1.0}'),
      other: 1,
      items: [{ data: new JsonText('12345678901234567890') }, { other: [1] }],
    });
  });

  it('has of equal names the last, as the parser has it', () => {
    expect(read('{"data":1,"d\\u0061ta":2.0}')).toEqual({ data: new JsonText('2.0') });
    expect(read('{"items":[{"data":1}],"items":[{"data":2},{"data":3}]}')).toEqual({
      items: [{ data: new JsonText('2') }, { data: new JsonText('3') }],
    });
    expect(read('{"items":[{"data":1}],"items":5}')).toEqual({ items: 5 });
    expect(read('{"items":[{"data":1}],"items":[{}]}')).toEqual({ items: [{}] });
  });

  it('is left as it is where it is no such thing', () => {
    expect(read('[{"data":1.0}]')).toEqual([{ data: 1 }]);
    expect(read('{"items":{"data":1.0}}')).toEqual({ items: { data: 1 } });
    expect(read('{"items":[1,2,3,{"data":1.0}]}')).toEqual({ items: [1, 2, 3, { data: 1 }] });
    expect(read('{"__proto__":{"data":1}}')).toEqual(JSON.parse('{"__proto__":{"data":1}}'));
  });
});
