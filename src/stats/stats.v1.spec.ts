import { Tally } from '../engine/stats/tally.js';
import { InputError } from '../contract/fields/problems.js';
import { toWire } from '../contract/fields/wire.js';
import { StatsAnswer, statsFacts } from '../contract/stats.js';
import { statsQueryOf } from './stats.v1.js';

const TODAY = 20_000;

function fieldsRefused(query: Record<string, string>): string[] {
  try {
    statsQueryOf(query, TODAY);
    return [];
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    return error.problems.map(({ field }) => field);
  }
}

describe('a request for statistics', () => {
  it('is for today unless it has a day', () => {
    expect(statsQueryOf({ queue: 'mail' }, TODAY)).toEqual({ queue: 'mail', day: TODAY });
    expect(statsQueryOf({}, TODAY)).toEqual({ queue: null, day: TODAY });
    expect(statsQueryOf({ queue: '*', day: '1970-01-31' }, TODAY)).toEqual({ queue: '*', day: 30 });
  });

  it.each([
    [{ queue: '' }, ['queue']],
    [{ queue: '_q' }, ['queue']],
    [{ queue: 'a,b' }, ['queue']],
    [{ queue: 'q', day: '2026-02-30' }, ['day']],
    [{ queue: 'q', day: '2026-13-01' }, ['day']],
    [{ queue: 'q', day: '1' }, ['day']],
    [{ queue: 'q', foo: '1', constructor: '1' }, ['foo', 'constructor']],
    [{ queue: 'x'.repeat(256), day: '' }, ['queue', 'day']],
  ])('is refused with %j, and names the wrong fields %j', (query, fields) => {
    expect(fieldsRefused(query)).toEqual(fields);
  });

  it('is answered with the bins that are not empty', () => {
    const tally = new Tally();
    for (const ms of [1_500, 60_000, 8 * 86_400_000]) tally.waits.add(ms);

    expect(toWire(StatsAnswer, statsFacts('q', TODAY, tally, 3))).toMatchObject({
      queue: 'q',
      day: '2024-10-04',
      waits: {
        count: 3,
        histogram: [
          { bin: 's1', from_ms: 1_000, to_ms: 2_000, count: 1 },
          { bin: 'm1', from_ms: 60_000, to_ms: 120_000, count: 1 },
          { bin: 'd7', from_ms: 604_800_000, to_ms: null, count: 1 },
        ],
      },
      runs: { count: 0, mean_ms: 0, std_ms: 0, histogram: [] },
      still_dead: 3,
    });
  });
});
