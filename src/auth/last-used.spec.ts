import { LastUsed, USE_PAUSE_MS } from './last-used.js';

describe('the last use of tokens', () => {
  let written: (readonly string[])[];
  let nowMs: number;
  let isAway: boolean;
  let lastUsed: LastUsed;

  beforeEach(() => {
    [written, nowMs, isAway] = [[], 0, false];
    lastUsed = new LastUsed(
      (digests) => {
        written.push(digests);
        return isAway ? Promise.reject(new Error('away')) : Promise.resolve();
      },
      () => nowMs,
    );
  });

  it('is written for all tokens in one call, and at most once a minute for each token', async () => {
    for (let i = 0; i < 10; i++) for (const digest of ['a', 'b']) lastUsed.record(digest);
    await lastUsed.flush();
    lastUsed.record('a');
    lastUsed.record('c');
    await lastUsed.flush();
    nowMs += USE_PAUSE_MS;
    lastUsed.record('a');
    await lastUsed.flush();
    await lastUsed.flush();
    expect(written).toEqual([['a', 'b'], ['c'], ['a']]);
  });

  it('is written for at most 64 tokens in one call', async () => {
    for (let i = 0; i < 150; i++) lastUsed.record(String(i));
    await lastUsed.flush();
    expect(written.map((digests) => digests.length)).toEqual([64, 64, 22]);
  });

  it('is dropped without an error and without further calls after the first failed call', async () => {
    isAway = true;
    for (let i = 0; i < 150; i++) lastUsed.record(String(i));
    await lastUsed.flush();
    expect(written).toHaveLength(1);
  });
});
