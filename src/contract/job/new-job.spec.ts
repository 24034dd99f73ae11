import { InputError } from '../fields/problems.js';
import { publishRequestOf, type PublishRequest } from './new-job.js';

const MAX_BYTES = 100;

const read = (body: unknown): PublishRequest => publishRequestOf(body, MAX_BYTES);

function problems(body: unknown): string[] {
  try {
    read(body);
  } catch (error) {
    if (error instanceof InputError) return error.problems.map(({ field, rule }) => `${field} ${rule}`);
    throw error;
  }
  return [];
}

/** The fields of the problems of a job in queue `q`. */
const fields = (job: object): string[] => problems({ queue: 'q', ...job }).map((text) => text.split(' ')[0]!);

describe('the body of a publish', () => {
  it('has null data and no options if it only names a queue', () => {
    expect(read({ queue: 'q' })).toEqual({ isOne: true, jobs: [{ queue: 'q', body: Buffer.from('null') }] });
  });

  it('is read with all options of a job', () => {
    const job = {
      ...{
        queue: 'q',
        id: 'mine',
        data: { b: [1, 'ä'], a: null },
        ttl_ms: 5,
        delay_ms: 5,
        tries: 7,
        ttr_ms: 9,
      },
      ...{ priority: -128, type: 'mail', tags: ['a', 'b'], attributes: { k: '' }, depends_on: ['x'] },
      ...{ on_dependency_failure: 'cancel', concurrency_key: 'k', retention_ms: 1, history: false },
      retry: { kind: 'exponential', delay_ms: 1, factor: 3, max_ms: 9, jitter: 0.5, non_retryable: ['g'] },
      unique: { key: 'u', mode: 'debounce', window_ms: 2 },
    };
    expect(read(job).jobs).toEqual([
      {
        ...{ queue: 'q', id: 'mine', body: Buffer.from('{"b":[1,"ä"],"a":null}'), ttlMs: 5, delayMs: 5 },
        ...{ tries: 7, ttrMs: 9, priority: -128, type: 'mail', tags: ['a', 'b'], attributes: { k: '' } },
        ...{
          dependsOn: ['x'],
          onDependencyFailure: 'cancel',
          concurrencyKey: 'k',
          retentionMs: 1,
          history: false,
        },
        retry: { kind: 'exponential', delayMs: 1, factor: 3, maxMs: 9, jitter: 0.5, nonRetryable: ['g'] },
        unique: { key: 'u', mode: 'debounce', windowMs: 2 },
      },
    ]);
  });

  it('has the mode "existing" for a unique key without a mode', () => {
    expect(read({ queue: 'q', unique: { key: 'k' } }).jobs).toEqual([
      { queue: 'q', body: Buffer.from('null'), unique: { key: 'k', mode: 'existing' } },
    ]);
  });

  it('may have a list of jobs, and errors name the index of the job', () => {
    const { isOne, jobs } = read({
      jobs: [{ queue: 'a' }, { queue: 'b', run_at: '2026-01-01T00:00:00.5Z' }],
    });
    expect([isOne, jobs.map(({ queue }) => queue), jobs[1]!.dueMs]).toEqual([
      false,
      ['a', 'b'],
      Date.UTC(2026, 0, 1, 0, 0, 0, 500),
    ]);
    expect(problems({ jobs: [{ queue: 'a', id: 'x' }, { queue: '' }] })).toEqual([
      expect.stringMatching(/^jobs\[1\]\.queue must be a queue's name/),
    ]);
    expect(
      problems({
        jobs: [
          { queue: 'a', id: 'x' },
          { queue: 'a', id: 'x' },
        ],
      }),
    ).toEqual(['jobs[1].id must not be the id of another job of the call']);
    expect(problems({ jobs: [] })).toEqual(['jobs must be a list of 1 to 64 objects']);
    expect(problems({ jobs: [{ queue: 'a' }], queue: 'a' })).toEqual(['queue unknown field; known: jobs']);
  });

  it.each<[string, object, object]>([
    ['JSON', { data: [1.5] }, { body: Buffer.from('[1.5]') }],
    ['null', { data: null }, { body: Buffer.from('null') }],
    ['JSON of the plain type', { data: 0, content_type: 'Application/JSON' }, { body: Buffer.from('0') }],
    [
      'JSON of another type',
      { data: '', content_type: 'application/ld+json; a=b' },
      { body: Buffer.from('""'), contentType: 'application/ld+json; a=b' },
    ],
    ['bytes', { data_base64: '/w==' }, { body: Buffer.from([255]), contentType: 'application/octet-stream' }],
    [
      'no bytes',
      { data_base64: '', content_type: 'text/plain' },
      { body: Buffer.alloc(0), contentType: 'text/plain' },
    ],
    ['the most bytes', { data: 'x'.repeat(98) }, { body: Buffer.from(`"${'x'.repeat(98)}"`) }],
  ])('may have %s as data', (_, data, stored) => {
    expect(read({ queue: 'q', ...data }).jobs).toEqual([{ queue: 'q', ...stored }]);
  });

  it.each<[string, object, string[]]>([
    ['two kinds of data', { data: 1, data_base64: 'MQ==' }, ['data_base64']],
    ['a type of no data', { content_type: 'text/plain' }, ['content_type']],
    ['JSON that is said to be none', { data: 1, content_type: 'text/plain' }, ['content_type']],
    ['too much JSON', { data: 'x'.repeat(99) }, ['data']],
    ['too many bytes', { data_base64: Buffer.alloc(101).toString('base64') }, ['data_base64']],
    ['a type of two lines', { data_base64: '', content_type: 'a\r\nb' }, ['content_type']],
    ['a delay and a time', { delay_ms: 1, run_at: '2026-01-01T00:00:00Z' }, ['run_at']],
    ['a ttl that ends before the delay', { delay_ms: 5, ttl_ms: 4 }, ['ttl_ms']],
    [
      'too many attributes',
      { attributes: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`k${String(i)}`, ''])) },
      ['attributes'],
    ],
    ['too many tags', { tags: Array.from({ length: 33 }, (_, i) => String(i)) }, ['tags']],
    ['a priority of 9 bits', { priority: 128 }, ['priority']],
    ['no tries', { tries: 0 }, ['tries']],
    ['a retry of no kind', { retry: { delay_ms: 1 } }, ['retry.kind']],
    ['a unique key of another mode', { unique: { key: 'a', mode: '' } }, ['unique.mode']],
    ['unknown fields', { delay: 1, retry: { kind: 'none', tries: 1 } }, ['retry.tries', 'delay']],
    ['several faults', { tries: 0, ttr_ms: 0, type: '' }, ['tries', 'ttr_ms', 'type']],
  ])('is refused with %s', (_, job, wrong) => {
    expect(fields(job).sort()).toEqual(wrong.sort());
  });

  it.each<[object, string[]]>([
    [{ kind: 'none' }, []],
    [{ kind: 'none', delay_ms: 1 }, ['retry.delay_ms']],
    [{ kind: 'fixed', delay_ms: 0 }, []],
    [{ kind: 'fixed' }, ['retry.delay_ms']],
    [{ kind: 'fixed', delay_ms: 0, max_ms: 1 }, ['retry.max_ms']],
    [{ kind: 'linear', delay_ms: 1, max_ms: 5 }, []],
    [{ kind: 'linear', delay_ms: 1, factor: 2, jitter: 0 }, ['retry.factor', 'retry.jitter']],
    [{ kind: 'exponential', delay_ms: 1 }, []],
    [{ kind: 'exponential', delay_ms: 1, delays_ms: [1] }, ['retry.delays_ms']],
    [{ kind: 'list', delays_ms: [1, 1, 5] }, []],
    [{ kind: 'list' }, ['retry.delays_ms']],
  ])('is accepted or refused by the fields that its kind of retry policy allows: %j', (retry, wrong) => {
    expect(fields({ retry })).toEqual(wrong);
  });

  it('is refused if its data is too long, also if it is nested 50,000 levels deep', () => {
    const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
    const data: unknown = JSON.parse(deep);
    expect(problems({ queue: 'q', data }).join()).toMatch(/^data must be at most/);
  });

  it('is refused as a list, with the object that has one', () => {
    expect(problems([{ queue: 'q' }])).toEqual([
      ' must be an object: one job, or several as {"jobs": [...]}',
    ]);
  });

  it.each([[null], ['x'], [5]])('is refused if it is not an object: %j', (body) => {
    expect(problems(body)).toEqual([' must be an object']);
  });
});
