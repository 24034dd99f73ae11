import { createHash } from 'node:crypto';
import type { NewExtendedJob } from '../../contract/job/extended-job.js';
import { encodeKeyedCalls, idempotencyRecordOf, nativeIdempotencyRecordOf } from './idempotency-records.js';

const DAY_MS = 86_400_000;

/** The first 16 bytes, as they are stored. */
function sha256(...parts: readonly (string | Buffer)[]): string {
  const sum = createHash('sha256');
  for (const part of parts) sum.update(part);
  return sum.digest().subarray(0, 16).toString('hex');
}

/** What records have held since data format 2: a repeated request must match a record that an older server stored. */
function nativeFacts(jobs: readonly NewExtendedJob[]): string {
  const options = jobs.map(({ body, ...rest }) => [
    body.length,
    Object.entries(rest).sort(([one], [other]) => (one < other ? -1 : 1)),
  ]);
  return `${JSON.stringify(['v1', options])}\n`;
}

const body = Buffer.from('{"to":"ä"}');

describe('records of idempotency keys', () => {
  it.each<[string, readonly NewExtendedJob[]]>([
    ['one plain job', [{ queue: 'mail', body }]],
    ['an empty body', [{ queue: 'mail', body: Buffer.alloc(0) }]],
    [
      'all kinds of options, not in the order of their names',
      [
        {
          type: 'mail "x"',
          queue: 'mail',
          body,
          tries: 3,
          delayMs: 0,
          attributes: { ü: 'é\n', a: '' },
          tags: ['b', 'a'],
          retry: { kind: 'exponential', delayMs: 1_000 },
          history: true,
          dependsOn: [],
        },
      ],
    ],
    ['a field that is undefined', [{ queue: 'mail', body, ttlMs: undefined } as unknown as NewExtendedJob]],
    [
      'several jobs',
      [
        { queue: 'mail', body, id: 'one' },
        { queue: 'text', body: Buffer.from('2'), priority: -1 },
      ],
    ],
  ])('have the same digest and fingerprint as in older versions: %s', (_, jobs) => {
    const { digest, fingerprint, isNative } = nativeIdempotencyRecordOf('key-1', jobs);
    expect(fingerprint.toString('hex')).toBe(sha256(nativeFacts(jobs), ...jobs.map((job) => job.body)));
    expect(digest.toString('hex')).toBe(sha256('\0key-1'));
    expect(isNative).toBe(true);
  });

  it("have the same digest and fingerprint as in older versions for lmstfy's API", () => {
    const job = { body, delayMs: 5, ttlMs: 0, tries: 2, attributes: { a: 'ä' } };
    const record = idempotencyRecordOf('key-2', { kind: 'publish', queue: 'mail', jobs: [job] });
    const facts = '["publish","mail",null,[[null,11,5,0,2,[["a","ä"]]]]]\n';
    expect(record.fingerprint.toString('hex')).toBe(sha256(facts, body));
    expect(record.digest.toString('hex')).toBe(sha256('mail\0key-2'));
  });

  it('are encoded for each call with a key, with the index of its first item and its number of items', () => {
    const record = { digest: Buffer.alloc(16, 1), fingerprint: Buffer.alloc(16, 2), isNative: true };
    const bytes = encodeKeyedCalls([
      { items: [1, 2], detail: undefined },
      { items: [3, 4, 5], detail: { record, ttlMs: DAY_MS } },
      { items: [6], detail: { record: { ...record, isNative: false }, ttlMs: 2 ** 40 } },
    ]);
    const common = `${'01'.repeat(16)}${'02'.repeat(16)}`;
    expect(bytes.toString('hex')).toBe(`00030003${common}000005265c0001` + `00060001${common}01000000000000`);
  });
});
