import { FailureCounter } from './breaker.js';
import { BREAKER } from '../engine/queues/stored-targets.js';

describe('the count of push failures', () => {
  it('opens the breaker after five failed connections in a row', () => {
    const counter = new FailureCounter();
    const opens = [1, 2, 3, 4, 5].map((ms) => counter.count(false, false, ms, BREAKER));
    expect(opens).toEqual([false, false, false, false, true]);
  });

  it('is reset by a successful request, so four failed connections and one more do not open the breaker', () => {
    const counter = new FailureCounter();
    for (let i = 0; i < 4; i++) counter.count(false, false, i, BREAKER);
    counter.count(true, true, 4, BREAKER);
    expect(counter.count(false, false, 5, BREAKER)).toBe(false);
  });

  it('opens the breaker when five of ten requests within a minute fail', () => {
    const counter = new FailureCounter();
    for (let i = 0; i < 5; i++) counter.count(true, true, i, BREAKER);
    const opens = [5, 6, 7, 8, 9].map((ms) => counter.count(false, true, ms, BREAKER));
    expect(opens).toEqual([false, false, false, false, true]);
  });

  it('ignores failures older than a minute', () => {
    const counter = new FailureCounter();
    for (let i = 0; i < 9; i++) counter.count(false, true, i, BREAKER);
    expect(counter.count(false, true, 70_000, BREAKER)).toBe(false);
  });

  it('opens the breaker by the settings of the target: failures in a row, or a share of a number of requests', () => {
    const inARow = new FailureCounter();
    expect(inARow.count(false, false, 1, { ...BREAKER, failures: 2 })).toBe(false);
    expect(inARow.count(false, false, 2, { ...BREAKER, failures: 2 })).toBe(true);

    const share = { ...BREAKER, failurePercent: 75, minRequests: 4 };
    const counter = new FailureCounter();
    const opens = [true, false, false, false].map((isHealthy, ms) =>
      counter.count(isHealthy, true, ms, share),
    );
    expect(opens).toEqual([false, false, false, true]);
    const half = new FailureCounter();
    for (const isHealthy of [true, true, false]) half.count(isHealthy, true, 1, share);
    expect(half.count(false, true, 2, share)).toBe(false);
  });
});
