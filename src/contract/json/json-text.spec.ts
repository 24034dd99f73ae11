import { Optional } from '../fields/field.js';
import { AnyJson, JsonAsWritten, Parts } from '../fields/kinds.js';
import { jsonOf } from './body-json.js';
import { jsonOfTexts, JsonText } from './json-text.js';

describe('JSON that is kept as text', () => {
  it('is copied into answers unchanged, but without line breaks and with escapes for non-ASCII characters', () => {
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

describe('a body with fields that are kept as text', () => {
  const read = (text: string): unknown => jsonOf(Buffer.from(text), 3, Body);
  const written = (text: string): JsonText => new JsonText(Buffer.from(text));

  it('is read with the text of such fields and the values of all others', () => {
    expect(
      read('{"data": {"a":1.0} ,"other":1.0,"items":[{"data":12345678901234567890},{"other":[1.0]}]}'),
    ).toEqual({
      data: written('{"a":1.0}'),
      other: 1,
      items: [{ data: written('12345678901234567890') }, { other: [1] }],
    });
  });

  it('has the last value of a repeated name, as with JSON.parse', () => {
    expect(read('{"data":1,"d\\u0061ta":2.0}')).toEqual({ data: written('2.0') });
    expect(read('{"items":[{"data":1}],"items":[{"data":2},{"data":3}]}')).toEqual({
      items: [{ data: written('2') }, { data: written('3') }],
    });
    expect(read('{"items":[{"data":1}],"items":5}')).toEqual({ items: 5 });
    expect(read('{"items":[{"data":1}],"items":[{}]}')).toEqual({ items: [{}] });
  });

  it('is read as by JSON.parse if such a name is in another place', () => {
    expect(read('[{"data":1.0}]')).toEqual([{ data: 1 }]);
    expect(read('{"items":{"data":1.0}}')).toEqual({ items: { data: 1 } });
    expect(read('{"items":[1,[{"data":1.0}]]}')).toEqual({ items: [1, [{ data: 1 }]] });
    expect(read('{"__proto__":{"data":1}}')).toEqual(JSON.parse('{"__proto__":{"data":1}}'));
  });
});
