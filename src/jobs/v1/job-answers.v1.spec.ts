import type { ExtendedFacts, LeasedJob } from '../../domain/job/job.js';
import { fieldsOf } from '../../contract/fields/field.js';
import { toWire } from '../../contract/fields/wire.js';
import { JobFacts, LeasedJobAnswer } from '../../contract/job/answers.js';
import { leasedJson } from './job-answers.v1.js';

const SIMPLE: LeasedJob = {
  ...{
    id: '01M7Z17XME660YPHBY512QCVQF',
    queue: 'q',
    body: Buffer.from('{"a":[1.50, "ä"]}'),
    attributes: null,
  },
  ...{
    tries: 5,
    triesLeft: 4,
    attempts: 1,
    ttlLeftMs: 5,
    elapsedMs: 6,
    lease: 4_294_967_295,
    leaseEndsAtMs: 1_000,
  },
  ...{ publishedAtMs: 0, expiresAtMs: null },
};
const FACTS: ExtendedFacts = {
  ...{ priority: 0, type: null, tags: [], contentType: null, crashes: 0, failures: 0, released: 0 },
  ...{ progress: null, waitedMs: null, maxRunMs: null },
};

describe('the answer to a lease request', () => {
  it.each<[string, LeasedJob]>([
    ['of a simple job', SIMPLE],
    [
      'of an extended job',
      {
        ...SIMPLE,
        ...{ attributes: { 'a"': 'ö\n' }, publishedAtMs: null, expiresAtMs: 253_402_300_799_999 },
        extended: {
          ...FACTS,
          ...{ maxRunMs: 60_000, priority: -128, type: 'a"\\ü', tags: ['ß', '"'], crashes: 2, failures: 3 },
          ...{ contentType: 'application/ld+json; a="b"', progress: '{"done": 0.10, "what": "ä"}' },
        },
      },
    ],
  ])('has all fields, and data with the digits as published: %s', (_what, job) => {
    const json = leasedJson([job], 64);
    const { extended = FACTS } = job;
    const progress = extended.progress === null ? null : (JSON.parse(extended.progress) as unknown);
    const answer: unknown = {
      ...toWire(JobFacts, { ...job, ...extended, state: 'leased', progress }),
      ...{
        data: { a: [1.5, 'ä'] },
        content_type: extended.contentType ?? 'application/json',
        lease: job.lease,
        ...(extended.maxRunMs !== null && { max_run_ms: extended.maxRunMs }),
      },
    };
    expect(JSON.parse(json)).toEqual({ jobs: [answer] });
    expect(json).toMatch(/^[\x20-\x7e]*$/);
    // As it was published: numbers keep their digits.
    expect(json).toContain('"data":{"a":[1.50, "\\u00e4"]}');
    const leftOut = ['data_base64', 'dependencies', ...(extended.maxRunMs === null ? ['max_run_ms'] : [])];
    const fields = [...fieldsOf(LeasedJobAnswer).keys()].filter((name) => !leftOut.includes(name));
    expect(Object.keys(answer as object).sort()).toEqual(fields.sort());
  });

  it('has dependencies with their results, as JSON with its digits or as bytes in base64', () => {
    const dependencies = [
      { id: 'a', state: 'done', result: { body: Buffer.from('[1.50]'), contentType: null } },
      { id: 'b', state: 'done', result: { body: Buffer.from([255, 0]), contentType: 'image/png' } },
      { id: 'c', state: 'done', result: null, truncated: true },
    ] as const;
    const json = leasedJson([{ ...SIMPLE, extended: { ...FACTS, dependencies } }], 64);
    expect(json).toContain('"result":[1.50]');
    expect((JSON.parse(json) as { jobs: object[] }).jobs[0]).toMatchObject({
      dependencies: [
        { id: 'a', state: 'done', result: [1.5], result_type: 'application/json' },
        { id: 'b', state: 'done', result_base64: '/wA=', result_type: 'image/png' },
        { id: 'c', state: 'done', truncated: true },
      ],
    });
  });

  it('has bytes in base64, and is valid JSON with two jobs and with none', () => {
    const bytes = { ...SIMPLE, body: Buffer.from([255, 0]) };
    const { jobs } = JSON.parse(leasedJson([bytes, SIMPLE], 64)) as { jobs: object[] };
    expect(jobs).toHaveLength(2);
    expect(jobs[0]).toMatchObject({ data_base64: '/wA=', content_type: 'application/octet-stream' });
    expect(leasedJson([], 64)).toBe('{"jobs":[]}');
  });
});
