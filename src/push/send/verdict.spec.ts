import { execFileSync } from 'node:child_process';
import { SendError } from './send-error.js';
import { retryAfterOf, verdictOfAnswer, verdictOfError } from './verdict.js';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const HOUR = 3_600_000;

function verdict(
  status: number,
  {
    headers = {},
    onStatus = {},
    releases = 0,
    body = '',
  }: {
    headers?: Record<string, string>;
    onStatus?: Record<string, 'ack' | 'retry' | 'release' | 'fail'>;
    releases?: number;
    body?: string;
  } = {},
): ReturnType<typeof verdictOfAnswer> {
  const answer = {
    ...{ status, body: Buffer.from(body), isWhole: true, bodyError: null, tookMs: 1 },
    headers: new Map(Object.entries(headers)),
  };
  return verdictOfAnswer(answer, { onStatus, maxRetryAfterMs: HOUR, ack: 'response' }, releases, NOW);
}

describe('the action for an answer to a push', () => {
  it.each<[number, Record<string, string>, string, boolean | null]>([
    [200, {}, 'ack', true],
    [202, {}, 'ack', true],
    [204, {}, 'ack', true],
    [301, {}, 'retry', true],
    [400, {}, 'retry', true],
    [404, { 'retry-after': '5' }, 'retry', true],
    [408, {}, 'retry', false],
    [410, {}, 'fail', true],
    [425, {}, 'retry', true],
    [429, {}, 'release', null],
    [500, { 'retry-after': '5' }, 'retry', false],
    [503, {}, 'retry', false],
    [503, { 'retry-after': '5' }, 'release', false],
    [503, { 'retry-after': 'soon' }, 'retry', false],
    [500, { 'pumphouse-retry': 'No' }, 'fail', false],
    [429, { 'pumphouse-retry': 'no' }, 'fail', null],
    [200, { 'pumphouse-retry': 'no' }, 'ack', true],
  ])('is chosen for status %d with the headers %j', (status, headers, action, isHealthy) => {
    expect(verdict(status, { headers })).toMatchObject({ action, isHealthy, isGone: status === 410 });
  });

  it('follows the rules of the target, and a rule for a status such as 404 before a rule for 4xx', () => {
    const onStatus = { '404': 'fail', '4xx': 'ack', '2xx': 'retry' } as const;
    expect([404, 410, 200, 500].map((status) => verdict(status, { onStatus }).action)).toEqual([
      ...['fail', 'ack', 'retry', 'retry'],
    ]);
    expect(verdict(410, { onStatus }).isGone).toBe(false);
  });

  it('is a release at most 100 times, and then a retry', () => {
    expect(verdict(429, { releases: 99 }).action).toBe('release');
    expect(verdict(429, { releases: 100 })).toMatchObject({ action: 'retry', group: 'http_429' });
  });

  it('delays a release by 1 to 60 seconds that double, or by a longer Retry-After up to the maximum', () => {
    expect(verdict(429).delayMs).toBe(1_000);
    expect(verdict(429, { releases: 3 }).delayMs).toBe(8_000);
    expect(verdict(429, { releases: 50 }).delayMs).toBe(60_000);
    expect(verdict(429, { headers: { 'retry-after': '120' } }).delayMs).toBe(120_000);
    expect(verdict(429, { headers: { 'retry-after': '0' } }).delayMs).toBe(1_000);
    expect(verdict(429, { headers: { 'retry-after': '999999' } }).delayMs).toBe(HOUR);
  });

  it('has a message with the first 1,024 characters of the body', () => {
    expect(verdict(500, { body: 'x'.repeat(5_000) }).message).toBe(`HTTP 500: ${'x'.repeat(1_024)}`);
  });

  it('is a retry if there is no answer, and a release if the server shuts down', () => {
    expect(verdictOfError(new SendError('dns', 'd'))).toMatchObject({
      ...{ action: 'retry', group: 'dns', isHealthy: false },
    });
    expect(verdictOfError(new SendError('aborted', 'd'))).toMatchObject({
      action: 'release',
      isHealthy: null,
    });
  });
});

describe('the Retry-After of an answer to a push', () => {
  it.each<[string | undefined, number | null]>([
    [undefined, null],
    ['5', 5_000],
    [' 5 ', 5_000],
    ['Thu, 01 Jan 2026 00:00:30 GMT', 30_000],
    ['Thursday, 01-Jan-26 00:00:30 GMT', 30_000],
    ['Thu Jan  1 00:00:30 2026', 30_000],
    ['Wed, 31 Dec 2025 00:00:00 GMT', 0],
    ['99999999999999999999', HOUR],
    ['-5', null],
    ['1.5', null],
    ['soon', null],
    ['next 2', null],
    ['', null],
  ])('is read or ignored as %s', (text, ms) => expect(retryAfterOf(text, NOW, HOUR)).toBe(ms));

  it.each(['Thu Jan  1 00:00:30 2026', 'Thu, 01 Jan 2026 00:00:30', 'Thu, 01 Jan 2026 00:00:30 GMT'])(
    'is in GMT on a server in New York: %s',
    (text) => {
      const code = `const { retryAfterOf } = await import(${JSON.stringify(new URL('verdict.ts', import.meta.url).href)});
        console.log(retryAfterOf(${JSON.stringify(text)}, ${String(NOW)}, ${String(HOUR)}));`;
      const loader = new URL('../../../test/support/typescript-loader.mjs', import.meta.url).href;
      const run = ['--import', loader, '--input-type=module', '--eval', code];
      const inNewYork = ['TZ=America/New_York', process.execPath, ...run];

      expect(execFileSync('env', inNewYork, { encoding: 'utf8' }).trim()).toBe('30000');
    },
  );
});
