import { InputError } from '../../contract/fields/problems.js';
import { acksOf, resultsJson } from './acks.v1.js';

const LIMITS = { max_body_bytes: 10, max_json_depth: 3 };

const ID = '01M7Z17XME660YPHBY512QCVQF';
const RIGHT = { queue: 'q', id: ID, lease: 1 };

function read(value: unknown): unknown {
  return acksOf(Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)), LIMITS);
}

/** The fields with a reported problem. */
function fields(value: unknown): string[] {
  try {
    read(value);
  } catch (error) {
    if (error instanceof InputError) return error.problems.map(({ field }) => field);
  }
  throw new Error('nothing was wrong');
}

describe('the body of a batch acknowledgement', () => {
  it('is a list of queues, ids and leases', () => {
    const acks = [
      { queue: 'q', id: ID, lease: 1 },
      { queue: 'q', id: 'my-own_id', lease: 7 },
      { queue: 'other', id: ID, lease: 4_294_967_295 },
    ];

    expect(read({ acks })).toEqual(acks);
  });

  it('may omit the lease of an item if force is true', () => {
    const [leased, forced] = [
      { queue: 'q', id: ID, lease: 1 },
      { queue: 'q', id: ID, force: true },
    ];

    expect(read({ acks: [leased, forced, { ...leased, force: false }] })).toEqual([
      leased,
      { queue: 'q', id: ID },
      leased,
    ]);
  });

  it.each<[string, object, string, string]>([
    ['neither lease nor force', {}, 'acks[0].lease', '`force` to true'],
    ['no force, said so', { force: false }, 'acks[0].lease', 'permission admin'],
    ['a lease beside force', { lease: 1, force: true }, 'acks[0].force', 'together'],
    ['force as a text', { force: 'true' }, 'acks[0].force', 'true or false'],
    ['a result beside force', { force: true, result: 1 }, 'acks[0].lease', 'result'],
    ['a next queue beside force', { force: true, next: { queue: 'p' } }, 'acks[0].lease', 'next queue'],
  ])('is refused with %s', (_what, more, field, rule) => {
    const acks = Buffer.from(JSON.stringify({ acks: [{ queue: 'q', id: ID, ...more }] }));

    expect(() => acksOf(acks, LIMITS)).toThrow(
      expect.objectContaining({
        problems: [{ field, rule: expect.stringContaining(rule) as string }],
      }) as Error,
    );
  });

  it.each<[string, unknown]>([
    ['nothing', ''],
    ['no JSON', '{"acks":['],
    ['a list', []],
    ['null', null],
    ['a text', '"acks"'],
    ['another field beside acks', { acks: [{ queue: 'q', id: ID }], lease: 1 }],
  ])('is refused as a whole if it is or contains %s', (_name, value) => {
    expect(fields(value)).toEqual(['']);
  });

  it.each<[string, unknown]>([
    ['no list', {}],
    ['an object', { acks: {} }],
    ['an empty list', { acks: [] }],
    ['too many', { acks: Array(1_001).fill({ queue: 'q', id: ID }) }],
  ])('is refused without a list of 1 to 1,000 items: %s', (_name, value) => {
    expect(fields(value)).toEqual(['acks']);
  });

  it.each<[string, unknown, string[]]>([
    ['no object', 7, ['acks[1]']],
    ['a list', [], ['acks[1]']],
    ['null', null, ['acks[1]']],
    ['nothing in it', {}, ['acks[1].queue', 'acks[1].id']],
    ['no queue', { id: ID }, ['acks[1].queue']],
    ['an empty queue', { queue: '', id: ID }, ['acks[1].queue']],
    ['a forbidden queue', { queue: 'a b', id: ID }, ['acks[1].queue']],
    ['a reserved queue', { queue: '_q', id: ID }, ['acks[1].queue']],
    ['a long queue', { queue: 'q'.repeat(256), id: ID }, ['acks[1].queue']],
    ['a queue that is no text', { queue: ['q'], id: ID }, ['acks[1].queue']],
    ['no id', { queue: 'q' }, ['acks[1].id']],
    ['what is no id', { queue: 'q', id: 'a"b' }, ['acks[1].id']],
    ['a lease of zero', { queue: 'q', id: ID, lease: 0 }, ['acks[1].lease']],
    ['a lease below zero', { queue: 'q', id: ID, lease: -1 }, ['acks[1].lease']],
    ['half a lease', { queue: 'q', id: ID, lease: 1.5 }, ['acks[1].lease']],
    ['a lease as a text', { queue: 'q', id: ID, lease: '1' }, ['acks[1].lease']],
    ['no lease, said so', { queue: 'q', id: ID, lease: null }, ['acks[1].lease']],
    ['a lease beyond 32 bits', { queue: 'q', id: ID, lease: 4_294_967_296 }, ['acks[1].lease']],
    ['a misspelt field', { queue: 'q', id: ID, leese: 1 }, ['acks[1].leese']],
    ['a field that every object has', { queue: 'q', id: ID, toString: 1 }, ['acks[1].toString']],
    ['a long field', { queue: 'q', id: ID, ['x'.repeat(99)]: 1 }, [`acks[1].${'x'.repeat(40)}`]],
  ])('is refused with the index of the wrong item and the name of its field: %s', (_name, item, expected) => {
    expect(fields({ acks: [RIGHT, item, RIGHT] })).toEqual(expected);
  });

  it('is refused with a field named __proto__', () => {
    expect(fields(`{"acks":[{"queue":"q","id":"${ID}","__proto__":{"lease":1}}]}`)).toEqual([
      'acks[0].__proto__',
    ]);
  });

  it('is refused with at most 20 errors', () => {
    expect(fields({ acks: Array(1_000).fill({}) })).toHaveLength(20);
  });

  it('may have a result, new data and a next queue for an item', () => {
    const of = { queue: 'q', id: ID, lease: 3 };
    const acks = [
      { ...of, result: { a: 1 } },
      of,
      { ...of, next: { queue: 'p', delay_ms: 5, depends_on: ['x'] } },
      { ...of, result_base64: 'YQ==' },
      { ...of, data: [1], next: { queue: 'p' } },
    ];

    expect(read({ acks })).toEqual([
      { ...of, outcome: { result: { body: Buffer.from('{"a":1}'), contentType: 'application/json' } } },
      of,
      { ...of, outcome: { next: { queue: 'p', delayMs: 5, dependsOn: ['x'] } } },
      { ...of, outcome: { result: { body: Buffer.from('a'), contentType: 'application/octet-stream' } } },
      { ...of, outcome: { data: { body: Buffer.from('[1]') }, next: { queue: 'p' } } },
    ]);
  });

  it.each<[string, object, string[]]>([
    ['no lease', { lease: undefined, result: 1 }, ['acks[0].lease']],
    ['new data without a lease', { lease: undefined, data: 1 }, ['acks[0].lease']],
    ['new data by force', { lease: undefined, force: true, data: 1 }, ['acks[0].lease']],
    ['long data', { data: 'x'.repeat(9) }, ['acks[0].data']],
    ['two results', { result: 1, result_base64: 'YQ==' }, ['acks[0].result_base64']],
    ['a type of nothing', { result_type: 'text/plain' }, ['acks[0].result_type']],
    ['a long result', { result: 'x'.repeat(9) }, ['acks[0].result']],
    ['a result of a job that goes on', { result: 1, next: { queue: 'p' } }, ['acks[0].next']],
    ['a next queue that is none', { next: { queue: '_p' } }, ['acks[0].next.queue']],
    ['a next queue without a name', { next: {} }, ['acks[0].next.queue']],
  ])('is refused with %s', (_name, more, expected) => {
    expect(fields({ acks: [{ queue: 'q', id: ID, lease: 1, ...more }] })).toEqual(expected);
  });

  it('is answered with a result per item', () => {
    const acks = [
      { queue: 'q', id: ID },
      { queue: 'p', id: 'x', lease: 2 },
    ];

    expect(resultsJson(acks, ['acked', { status: 'lease_lost', state: 'ready' }])).toBe(
      `{"results":[{"id":"${ID}","status":"acked"},{"id":"x","status":"lease_lost","state":"ready"}]}`,
    );
  });
});
