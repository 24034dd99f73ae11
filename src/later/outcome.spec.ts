import { deflateSync, gzipSync } from 'node:zlib';
import { MAX_PERIOD_MS } from '../domain/limits.js';
import type { PushAnswer } from '../push/send/sender.js';
import { MAX_ANSWER_BYTES, releaseDelayMs, replyOf, retryDelayMs } from './outcome.js';

const answer = (body: string | Buffer, more: Partial<PushAnswer> = {}): PushAnswer => ({
  ...{ status: 200, headers: new Map(), body: Buffer.from(body), isWhole: true, bodyError: null, tookMs: 1 },
  ...more,
});
const encoded = (encoding: string): Partial<PushAnswer> => ({
  headers: new Map([['content-encoding', encoding]]),
});

describe('the answer of a callback', () => {
  it.each([
    ...['{"code":100}', '{"CODE":100}', '{"code":101,"code":100}', '{"code":101,"Code":100}'],
    ...['{"code":100,"code":null}', ' {"code":100}\r\n\t ', '{"msg":"","code":100,"data":[{"code":5}]}'],
  ])('completes the job with the body %j', (text) => {
    expect(replyOf(answer(text))).toBe('done');
  });

  it.each([200, 201, 302, 404, 410, 429, 500, 503])(
    'completes the job with code 100, whatever the HTTP status is: %d',
    (status) => {
      expect(replyOf(answer('{"code":100}', { status }))).toBe('done');
    },
  );

  it.each([
    ...['', 'OK', '100', 'null', '{}', '{"code":0}', '{"code":200}', '{"code":"100"}', '{"code":100.0}'],
    ...[
      '{"code":1e2}',
      '{"code":100,"code":1}',
      '{"code":100}x',
      '{"code":100}{"code":100}',
      '[{"code":100}]',
    ],
    ...['{"code":null}', '{"data":{"code":100}}', '{"code":4294967396}', '\ufeff{"code":100}'],
    ...['{"code":100,"code":101}'],
  ])('is a failure with the body %j', (text) => {
    expect(replyOf(answer(text))).toBe('failed');
  });

  it('delays the job, without a failure, with code 101', () => {
    expect(replyOf(answer('{"code":101}'))).toBe('throttled');
  });

  it('is a failure if it is incomplete', () => {
    expect(replyOf(answer('{"code":100}', { isWhole: false }))).toBe('failed');
  });

  it('may be compressed by gzip only', () => {
    const done = '{"code":100}';
    expect(replyOf(answer(gzipSync(done), encoded('GZIP')))).toBe('done');
    expect(replyOf(answer(deflateSync(done), encoded('deflate')))).toBe('failed');
    expect(replyOf(answer(done, encoded('gzip')))).toBe('failed');
  });

  it('is a failure if its unpacked body is longer than MAX_ANSWER_BYTES', () => {
    const padded = (bytes: number): Buffer => gzipSync('{"code":100}'.padEnd(bytes));
    expect(replyOf(answer(padded(MAX_ANSWER_BYTES), encoded('gzip')))).toBe('done');
    expect(replyOf(answer(padded(MAX_ANSWER_BYTES + 1), encoded('gzip')))).toBe('failed');
    expect(replyOf(answer(padded(50_000_000), encoded('gzip')))).toBe('failed');
  });
});

describe("delays of later's jobs", () => {
  it('double with each failure, from 10 seconds up to the maximum delay', () => {
    expect([1, 2, 3, 8].map(retryDelayMs)).toEqual([10_000, 20_000, 40_000, 1_280_000]);
    expect(retryDelayMs(2_000)).toBe(MAX_PERIOD_MS);
  });

  it('double with each answer of code 101, from 10 seconds up to an hour', () => {
    expect([0, 1, 2, 99].map(releaseDelayMs)).toEqual([10_000, 20_000, 40_000, 3_600_000]);
  });
});
