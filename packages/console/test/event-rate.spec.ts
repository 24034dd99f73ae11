import { EventRate, MOST_PER_S } from '../src/lib/event-rate.js';

describe('the rate of a stream of events', () => {
  const at = (second: string) => ({ at: `2026-11-27T18:00:${second}Z` });
  const times = (count: number, second: string) => Array.from({ length: count }, () => at(second));

  it('reports the event that is one too many in its second', () => {
    const rate = new EventRate();
    const found = times(MOST_PER_S + 1, '00.999').map((event) => rate.add(event));
    expect([found.indexOf(true), found.length]).toEqual([MOST_PER_S, MOST_PER_S + 1]);
  });

  it('counts by the time of the events, also if all arrive at once', () => {
    const rate = new EventRate();
    const events = [...times(MOST_PER_S, '00.9'), ...times(MOST_PER_S, '01.0'), ...times(1, '02.0')];
    expect(events.some((event) => rate.add(event))).toBe(false);
  });

  it('counts events without a time together', () => {
    const rate = new EventRate();
    expect(Array.from({ length: MOST_PER_S + 1 }, () => rate.add({})).at(-1)).toBe(true);
  });
});
