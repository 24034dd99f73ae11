import { dataJson } from '../src/index.js';

class Order {
  readonly total = 1;
  readonly note = undefined;
}

const SHARED = { to: 'ada' };
const CIRCLE: { self?: object } = {};
CIRCLE.self = CIRCLE;

describe('the data of a job as JSON', () => {
  it.each([
    ['plain values', { a: [1, 'x', null, true], b: { c: {} } }, '{"a":[1,"x",null,true],"b":{"c":{}}}'],
    ['no field that is undefined', { a: undefined, b: 1 }, '{"b":1}'],
    ['the fields of an instance', new Order(), '{"total":1}'],
    ['what toJSON gives', [new Date(0), new URL('http://h/')], '["1970-01-01T00:00:00.000Z","http://h/"]'],
    ['an object at each place that it stands at', [SHARED, SHARED], '[{"to":"ada"},{"to":"ada"}]'],
  ])('has %s', (_what, data, text) => {
    expect(dataJson(data)).toBe(text);
  });

  it.each<[string, unknown]>([
    ['data: must be a JSON value, not NaN: use null or text', NaN],
    ['data.a[0]: must be a JSON value, not NaN: use null or text', { a: [NaN] }],
    ['data.a: must be a JSON value, not -Infinity: use null or text', { a: -Infinity }],
    [
      'data.at: must be a JSON value, not an Invalid Date: was it made from undefined?',
      { at: new Date('x') },
    ],
    ['data: must be a JSON value, not a Map: use Object.fromEntries(map)', new Map([[1, 2]])],
    ['data[1].seen: must be a JSON value, not a Set: use [...set]', [0, { seen: new Set() }]],
    ['data.f: must be a JSON value, not a function: leave it out', { f: () => 1 }],
    ['data.s: must be a JSON value, not a symbol: leave it out', { s: Symbol('x') }],
    ['data.n: must be a JSON value, not a bigint: use Number() or String()', { n: 1n }],
    ['data[0]: must be a JSON value, not undefined: use null', [undefined]],
    ['data[1]: must be a JSON value, not undefined: use null', Object.assign([1], { length: 2 })],
    [
      'data.b: must be a JSON value, not a Uint8Array: use base64 text, or bytes as the whole data',
      { b: new Uint8Array(2) },
    ],
    ['data.b: must be a JSON value, not an ArrayBuffer: use base64 text', { b: new ArrayBuffer(2) }],
    ['data.e: must be a JSON value, not an Error: use its message', { e: new Error('x') }],
    ['data.p: must be a JSON value, not a Promise: await it', { p: Promise.resolve() }],
    ['data.self: must be a JSON value, not an object that contains itself: leave that place out', CIRCLE],
  ])('refuses: %s', (message, data) => {
    expect(() => dataJson(data)).toThrow(new TypeError(message));
  });

  it('names the path that it is given', () => {
    expect(() => dataJson([NaN], 'jobs[3].data')).toThrow('jobs[3].data[0]: must be a JSON value, not NaN');
  });
});
