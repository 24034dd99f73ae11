import type { CronSchedule } from '../../src/contract/job/recurring.js';
import { slotsAfter, slotsPassed } from '../../src/engine/recurring/cron.js';
import { ALL_ZONES } from '../support/scale.js';

const HOUR_MS = 3_600_000;

/** A change of the clock of a zone: when, and the offsets from UTC before and after, in ms. */
interface Change {
  readonly atMs: number;
  readonly beforeMs: number;
  readonly afterMs: number;
}

const MINUTE_MS = 60_000;
const DAY_MS = 24 * HOUR_MS;

/** A second implementation, on Intl alone. */
class Zone {
  private readonly format: Intl.DateTimeFormat;

  constructor(readonly name: string) {
    this.format = new Intl.DateTimeFormat('en', { timeZone: name, timeZoneName: 'longOffset' });
  }

  offsetMs(atMs: number): number {
    const text = this.format.formatToParts(atMs).find(({ type }) => type === 'timeZoneName')?.value ?? '';
    const [, sign, hours, minutes, seconds] = /([+-])(\d+):(\d+)(?::(\d+))?/.exec(text) ?? [];
    const s = Number(hours ?? 0) * 3_600 + Number(minutes ?? 0) * 60 + Number(seconds ?? 0);
    return (sign === '-' ? -s : s) * 1_000;
  }

  changes(fromMs: number, toMs: number): Change[] {
    const found: Change[] = [];
    let beforeMs = this.offsetMs(fromMs);
    for (let atMs = fromMs; atMs < toMs; atMs += 7 * DAY_MS) {
      const afterMs = this.offsetMs(atMs + 7 * DAY_MS);
      if (afterMs === beforeMs) continue;
      let [low, high] = [atMs, atMs + 7 * DAY_MS];
      while (high - low > 1_000) {
        const middle = Math.floor((low + high) / 2_000) * 1_000;
        if (this.offsetMs(middle) === beforeMs) low = middle;
        else high = middle;
      }
      found.push({ atMs: high, beforeMs, afterMs });
      beforeMs = afterMs;
    }
    return found;
  }
}

interface Rule {
  readonly cron: string;
  readonly hours: readonly number[];
  readonly minutes: readonly number[];
  /** Hours and minutes have neither `*` nor a step. */
  readonly isFixed: boolean;
}
const range = (count: number, step = 1): number[] => Array.from({ length: count }, (_, i) => i * step);
const RULES: readonly Rule[] = [
  { cron: '30 2 * * *', hours: [2], minutes: [30], isFixed: true },
  { cron: '0 0 * * *', hours: [0], minutes: [0], isFixed: true },
  { cron: '10,50 0-3 * * *', hours: [0, 1, 2, 3], minutes: [10, 50], isFixed: true },
  { cron: '59 23 * * *', hours: [23], minutes: [59], isFixed: true },
  { cron: '*/20 * * * *', hours: range(24), minutes: range(3, 20), isFixed: false },
  { cron: '5 */2 * * *', hours: range(12, 2), minutes: [5], isFixed: false },
];

/** What should run from `fromMs` (not included) to `toMs` (included), where the clock changes once. */
function expectedRuns(
  { atMs, beforeMs, afterMs }: Change,
  rule: Rule,
  fromMs: number,
  toMs: number,
): number[] {
  const runs = new Set<number>();
  if (rule.isFixed) {
    for (let day = Math.floor(fromMs / DAY_MS) - 2; day <= toMs / DAY_MS + 2; day++) {
      for (const hour of rule.hours) {
        for (const minute of rule.minutes) {
          const wallMs = day * DAY_MS + hour * HOUR_MS + minute * MINUTE_MS;
          const early = wallMs - beforeMs < atMs ? [wallMs - beforeMs] : [];
          const late = wallMs - afterMs >= atMs ? [wallMs - afterMs] : [];
          runs.add(Math.min(...early, ...late, ...(early.length + late.length === 0 ? [atMs] : [])));
        }
      }
    }
  } else {
    for (let at = Math.floor(fromMs / MINUTE_MS) * MINUTE_MS; at <= toMs; at += MINUTE_MS) {
      const wall = new Date(at + (at < atMs ? beforeMs : afterMs));
      if (rule.hours.includes(wall.getUTCHours()) && rule.minutes.includes(wall.getUTCMinutes()))
        runs.add(at);
    }
  }
  return [...runs].filter((at) => at > fromMs && at <= toMs).sort((a, b) => a - b);
}

const SOME_ZONES = [
  ...['Europe/Berlin', 'Europe/London', 'America/New_York', 'America/Sao_Paulo', 'Australia/Lord_Howe'],
  ...['Asia/Tehran', 'Africa/Casablanca', 'America/St_Johns', 'Pacific/Apia', 'Asia/Pyongyang'],
  ...[
    'Asia/Gaza',
    'America/Scoresbysund',
    'America/Havana',
    'Asia/Beirut',
    'Africa/Cairo',
    'America/Asuncion',
    'Europe/Dublin',
  ],
  ...['Pacific/Auckland', 'Pacific/Chatham', 'America/Santiago', 'Antarctica/Troll'],
];
/** croner leaves out slots of a day that is seven hours longer: Vostok 1994, the only change of that kind since 1990. */
const FARTHEST_BACK_MS = 3 * HOUR_MS;
/** Of each zone so many changes and those after them: forward and back. */
const PAIRS_EACH = 2;

describe('clock changes 1990 to 2037', () => {
  const zones = ALL_ZONES ? Intl.supportedValuesOf('timeZone') : SOME_ZONES;
  /** Of 15,000 changes of all zones 4,200 differ: those at the same instant with the same offsets are played once. */
  const played = new Set<string>();
  it.each(zones)('are the same in a second implementation: %s', (name) => {
    const zone = new Zone(name);
    const all = zone.changes(Date.UTC(ALL_ZONES ? 1990 : 2009), Date.UTC(2038));
    const changes = ALL_ZONES ? all : all.filter((_, i) => i % Math.ceil(all.length / PAIRS_EACH) < 2);
    for (const change of changes) {
      // A day that is left out has its change in its middle; offsets with seconds are from before 1990.
      const [fromMs, toMs] = [change.atMs - 30 * HOUR_MS, change.atMs + 30 * HOUR_MS];
      const hasOne = all.filter(({ atMs }) => Math.abs(atMs - change.atMs) < 31 * HOUR_MS).length === 1;
      const key = Object.values(change).join();
      if (!hasOne || change.beforeMs - change.afterMs > FARTHEST_BACK_MS || played.has(key)) continue;
      played.add(key);
      for (const rule of RULES) {
        const schedule: CronSchedule = { cron: rule.cron, timeZone: name, endAtMs: toMs + 1 };
        const found = slotsAfter(schedule, fromMs, 1_000);
        const expected = expectedRuns(change, rule, fromMs, toMs);
        expect({ at: new Date(change.atMs), cron: rule.cron, found }).toEqual({
          ...{ at: new Date(change.atMs), cron: rule.cron, found: expected },
        });
        const last = expected.slice(-3);
        expect(slotsPassed(schedule, fromMs, toMs, 3)).toEqual({
          ...{ slots: last, others: expected.length - last.length },
        });
      }
    }
  });
});
