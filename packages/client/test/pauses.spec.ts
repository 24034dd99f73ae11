import { jest } from '@jest/globals';
import { ApiClient, RETRY_LIMITS } from '../src/transport/api-client.js';
import type { WireResponse } from '../src/transport/transport.js';

const CALLS = 60;
/** Three pauses take at most 700 ms. */
const LONGEST_MS = 1_000;

/** A call that a server without any delay refuses, until so many attempts were made. */
class RefusedCall {
  /** When each attempt was made. */
  readonly atMs: number[] = [];
  /** The error of the call, or its answer. */
  readonly outcome: Promise<unknown>;

  constructor(refusals: number, retryAfter: string | null = null, waitMs = 0) {
    const send = (): Promise<WireResponse> => {
      const status = this.atMs.push(performance.now()) <= refusals ? 503 : 200;
      return Promise.resolve({ status, text: '{"code":"overloaded"}', header: () => retryAfter });
    };
    const api = new ApiClient({
      ...{ url: new URL('http://localhost'), namespace: 'n', token: 't', limits: RETRY_LIMITS },
      transport: { send, stream: () => Promise.reject(new Error('no stream')), close: () => undefined },
    });
    const call = { method: 'GET', path: 'jobs', isRepeatable: true, waitMs } as const;
    this.outcome = api.call(call).catch((error: unknown) => error);
  }

  get pausesMs(): number[] {
    return this.atMs.slice(1).map((atMs, i) => atMs - this.atMs[i]!);
  }
}

// The clock moves from timer to timer: what is measured is what the client waits for, and no time of the machine.
beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

describe('the pause of the client before its next attempt', () => {
  it('is random between half of 100, 200 and 400 ms and the whole, for the first three pauses', async () => {
    const calls = Array.from({ length: CALLS }, () => new RefusedCall(3));
    // Not "until no timer is left": other code in this process may set one after the other.
    await jest.advanceTimersByTimeAsync(LONGEST_MS);
    for (const [i, boundMs] of [100, 200, 400].entries()) {
      const pauses = calls.map(({ pausesMs }) => pausesMs[i]!);
      expect(Math.min(...pauses)).toBeGreaterThanOrEqual(boundMs * 0.5);
      expect(Math.min(...pauses)).toBeLessThan(boundMs * 0.65);
      expect(Math.max(...pauses)).toBeGreaterThan(boundMs * 0.85);
      expect(Math.max(...pauses)).toBeLessThanOrEqual(boundMs);
    }
  });
});

describe('a call that the server may wait with', () => {
  it('ends after withinMs if the server is away', async () => {
    const call = new RefusedCall(99, null, 60_000);
    const begunMs = performance.now();
    await jest.advanceTimersByTimeAsync(RETRY_LIMITS.withinMs);
    expect(await call.outcome).toMatchObject({ code: 'overloaded' });
    expect(performance.now() - begunMs).toBeLessThanOrEqual(RETRY_LIMITS.withinMs);
    expect(call.atMs.length).toBeGreaterThan(8);
  });
});

describe('a Retry-After longer than the timeout of the call', () => {
  it('ends the call without a pause', async () => {
    const call = new RefusedCall(9, '3600');
    const begunMs = performance.now();
    expect(await call.outcome).toMatchObject({ code: 'overloaded', attempts: 1, retryable: true });
    expect([call.atMs.length, performance.now() - begunMs]).toEqual([1, 0]);
  });
});
