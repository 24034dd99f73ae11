import { FailureCounter } from './breaker.js';

describe('the count of failures', () => {
  it('opens the breaker after five failed connections in a row', () => {
    const counter = new FailureCounter();
    const opens = [1, 2, 3, 4, 5].map((ms) => counter.count(false, false, ms));
    expect(opens).toEqual([false, false, false, false, true]);
  });

  it('begins anew with an answer', () => {
    const counter = new FailureCounter();
    for (let i = 0; i < 4; i++) counter.count(false, false, i);
    counter.count(true, true, 4);
    expect(counter.count(false, false, 5)).toBe(false);
  });

  it('opens it at half of ten requests of a minute', () => {
    const counter = new FailureCounter();
    for (let i = 0; i < 5; i++) counter.count(true, true, i);
    const opens = [5, 6, 7, 8, 9].map((ms) => counter.count(false, true, ms));
    expect(opens).toEqual([false, false, false, false, true]);
  });

  it('forgets what is older than a minute', () => {
    const counter = new FailureCounter();
    for (let i = 0; i < 9; i++) counter.count(false, true, i);
    expect(counter.count(false, true, 70_000)).toBe(false);
  });
});
