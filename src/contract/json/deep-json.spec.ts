import { jsonOf } from './deep-json.js';

const DEPTH = 100_000;

function nested(inner: unknown): unknown {
  let value = inner;
  for (let i = 0; i < DEPTH; i++) value = i % 2 === 0 ? [value] : { a: value };
  return value;
}
const opening = '{"a":['.repeat(DEPTH / 2);
const closing = ']}'.repeat(DEPTH / 2);

describe('JSON of a value', () => {
  it.each([
    ['a number', 1.5],
    ['a text with quotes', '"\\\n'],
    ['null', null],
    ['an empty list', []],
    ['an empty object', {}],
    ['several members', { a: 1, b: [true, null, 'x'], '"': {} }],
    ['an undefined member, which is left out', { a: undefined, b: 2 }],
    ['an undefined item, which is null', [undefined, 1]],
    ['a time', new Date(0)],
  ])('is that of JSON.stringify, also 100,000 levels deep: %s', (_what, value) => {
    expect(jsonOf(value)).toBe(JSON.stringify(value));
    expect(jsonOf(nested(value))).toBe(opening + JSON.stringify(value) + closing);
  });

  it('has replaced values in every depth', () => {
    const replace = (one: unknown): unknown => (one === 1 ? 'one' : one);
    expect(jsonOf([1, 2], replace)).toBe('["one",2]');
    expect(jsonOf(nested([1, 2]), replace)).toBe(`${opening}["one",2]${closing}`);
  });

  it('throws what JSON.stringify throws for a value that is no JSON', () => {
    expect(() => jsonOf(1n)).toThrow(TypeError);
  });
});
