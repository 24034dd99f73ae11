import { GoInteger, goString, GoText, hasTwice, readStruct } from './go-json.js';

class Struct {
  @GoText('') topic!: string;
  @GoInteger('') delay!: bigint;
  @GoText('') callback!: string;
}

const read = (text: string | Buffer) => readStruct(Buffer.from(text), Struct);

describe('JSON as Go reads it', () => {
  it.each<[string, string | Buffer, object]>([
    ['null', 'null', {}],
    ['an object without the fields', ' {"x":[{"topic":"in"}],"y":1e999}\n', {}],
    ['keys in any case', '{"TOPIC":"a","dElay":5}', { topic: 'a', delay: 5n }],
    ['the Kelvin sign as k', '{"callbac\u212a":"u"}', { callback: 'u' }],
    ['escaped keys', '{"\\u0064elay":7}', { delay: 7n }],
    ['the last of two equal keys', '{"topic":"a","TOPIC":"b"}', { topic: 'b' }],
    ['null as no value', '{"topic":"a","topic":null}', { topic: 'a' }],
    ['minus zero', '{"delay":-0}', { delay: 0n }],
    ['integers of 64 bits', '{"delay":9223372036854775807}', { delay: 2n ** 63n - 1n }],
    ['the least of them', '{"delay":-9223372036854775808}', { delay: -(2n ** 63n) }],
    ['lone surrogates', '{"topic":"a\\ud800b"}', { topic: 'a\ufffdb' }],
    ['bytes that are no UTF-8', Buffer.from('{"topic":"a\xff"}', 'latin1'), { topic: 'a\ufffd' }],
    ['brackets and quotes in texts', '{"x":"}\\"]","topic":"]}\\\\"}', { topic: ']}\\' }],
    ['a value after nested ones', '{"x":{"a":[1,{}]},"y":[],"delay":3}', { delay: 3n }],
    ['a key that objects have', '{"__proto__":1,"constructor":2,"delay":3}', { delay: 3n }],
  ])('is read correctly with %s', (_what, text, values) => {
    expect(read(text)).toEqual({ topic: '', delay: 0n, callback: '', ...values });
  });

  it.each([
    ...['', '{', '{"topic":"x",}', "{'topic':'x'}", '[]', '"x"', '1', 'true', '{}{}', '{} x', '\ufeff{}'],
    ...['{"delay":1.5}', '{"delay":4000.0}', '{"delay":4e3}', '{"delay":"5"}', '{"delay":true}'],
    ...['{"delay":9223372036854775808}', `{"delay":${'9'.repeat(10_000)}}`],
    ...['{"topic":1}', '{"topic":{"a":1}}', '{"topic":["a"]}', '{"topic":"a\tb"}', '{"topic":"\\x41"}'],
  ])('is refused: %j', (text) => {
    expect(read(text)).toBeNull();
  });

  it('is accepted with 10,000 levels, and refused with more', () => {
    const nested = (levels: number): string => `{"x":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;
    expect(read(nested(10_000))).not.toBeNull();
    expect(read(nested(10_001))).toBeNull();
  });

  it('is written with the escapes of Go', () => {
    expect(goString('<a>&\u2028\u2029\b\f\n\r\t\u0001\u007f"\\b/é')).toBe(
      '"\\u003ca\\u003e\\u0026\\u2028\\u2029\\u0008\\u000c\\n\\r\\t\\u0001\u007f\\"\\\\b/é"',
    );
  });

  it('is checked for a field that occurs twice at the top level', () => {
    expect(hasTwice(Buffer.from('{"code":1,"CODE":2}'), 'code')).toBe(true);
    expect(hasTwice(Buffer.from('{"code":1,"x":{"code":2}}'), 'code')).toBe(false);
  });
});
