import { failuresOf, segmentsOf } from '../src/lib/timeline.js';

const at = (second: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
const ms = (second: number): number => Date.parse(at(second));
const TIMELINE = [
  { what: 'published', at: at(0) },
  { what: 'leased', at: at(2), attempt: 1 },
  { what: 'heartbeat', at: at(3) },
  { what: 'retried', at: at(4), group: 'smtp', due_at: at(9) },
  { what: 'ready', at: at(9) },
  { what: 'leased', at: at(10), attempt: 2 },
  { what: 'failed', at: at(11), group: 'smtp' },
  { what: 'died', at: at(11), group: 'smtp' },
];

describe('the timeline of a job', () => {
  it('is cut where its state changes', () => {
    const segments = segmentsOf(
      { timeline: TIMELINE, state: 'dead', due_at: null, published_at: at(0) },
      ms(60),
    );
    expect(
      segments.map(({ state, fromMs, untilMs, hasFailed }) => [state, (untilMs - fromMs) / 1_000, hasFailed]),
    ).toEqual([
      ['ready', 2, false],
      ['leased', 2, true],
      ['scheduled', 5, false],
      ['ready', 1, false],
      ['leased', 1, true],
    ]);
  });

  it('goes on while the job has not ended', () => {
    const [segment] = segmentsOf(
      { timeline: TIMELINE.slice(0, 1), state: 'ready', due_at: null, published_at: at(0) },
      ms(60),
    );
    expect(segment).toMatchObject({ state: 'ready', untilMs: ms(60), isOpen: true });
  });

  it('lists failures newest first, without the one that died repeats', () => {
    expect(failuresOf(TIMELINE).map(({ what }) => what)).toEqual(['died', 'retried']);
  });
});
