import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { check, recovered } from './checkers.js';
import { Journal, readHistory, type Entry, type Rules } from './journal.js';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '..', '..');

/** The checkers are only worth something if they see what they are there for. */
describe('the checkers of a run', () => {
  const rules: Rules = { seed: 1, ttrMs: 1_000, tries: 2, dead: [], mayRepeat: false };
  const publish = { op: 'publish', body: 'b', atMs: 0 } as const;
  const accepted = { op: 'accepted', body: 'b', id: '1', atMs: 1 } as const;
  const acked = { op: 'acked', id: '1', atMs: 10 } as const;
  const delivered = (sentMs: number, more: Partial<Extract<Entry, { op: 'delivered' }>> = {}): Entry => ({
    op: 'delivered',
    body: 'b',
    id: '1',
    sentMs,
    atMs: sentMs + 1,
    triesLeft: 0,
    ...more,
  });
  const found = (entries: Entry[], changed: Partial<Rules> = {}): string[] =>
    Object.entries(check({ rules: { ...rules, ...changed }, entries })).flatMap(([name, list]) =>
      (list as string[]).length > 0 ? [name] : [],
    );

  it('find nothing in a correct run', () => {
    expect(found([publish, accepted, delivered(2), acked])).toEqual([]);
    const later = { ...acked, atMs: 2_000 };
    expect(found([publish, accepted, delivered(2), delivered(1_003), later])).toEqual([]);
    expect(found([publish, accepted], { dead: ['1'] })).toEqual([]);
    expect(found([{ ...publish, delayMs: 500 }, accepted, delivered(501), { ...acked, atMs: 600 }])).toEqual(
      [],
    );
    const named = [delivered(2, { lease: 1 }), delivered(1_100, { lease: 2 })];
    expect(found([publish, accepted, ...named, { ...acked, lease: 2, atMs: 1_200 }])).toEqual([]);
  });

  it.each<[string, string, Entry[]]>([
    ['lost', 'an accepted job that never came', [publish, accepted]],
    ['lost', 'a job that was delivered and not done', [publish, accepted, delivered(2)]],
    ['unexpected', 'what no producer sent', [delivered(2, { body: 'other' })]],
    [
      'unexpected',
      'what came early',
      [{ ...publish, delayMs: 500 }, accepted, delivered(400), { ...acked, atMs: 600 }],
    ],
    [
      'duplicated',
      'a job given out within its lease',
      [publish, accepted, delivered(2), delivered(3), acked],
    ],
    [
      'duplicated',
      'a job that comes after it was done',
      [publish, accepted, delivered(2), acked, delivered(1_100)],
    ],
    [
      'duplicated',
      'a job that comes more often than it has tries',
      [publish, accepted, delivered(2), delivered(1_100), delivered(2_200), { ...acked, atMs: 9_000 }],
    ],
    [
      'duplicated',
      'one publish that became two jobs',
      [publish, accepted, delivered(2), delivered(3, { id: '2' }), acked],
    ],
    [
      'leases',
      'a lease number given out twice',
      [
        publish,
        accepted,
        delivered(2, { lease: 1 }),
        delivered(1_100, { lease: 1 }),
        { ...acked, atMs: 9_000 },
      ],
    ],
    [
      'leases',
      'a lease number that goes back',
      [
        publish,
        accepted,
        delivered(2, { lease: 2 }),
        delivered(1_100, { lease: 1 }),
        { ...acked, atMs: 9_000 },
      ],
    ],
    [
      'leases',
      'the acknowledgement of a stale lease',
      [
        publish,
        accepted,
        delivered(2, { lease: 1 }),
        delivered(1_100, { lease: 2 }),
        { ...acked, lease: 1, sentMs: 1_200, atMs: 1_300 },
      ],
    ],
    [
      'leases',
      'two accepted acknowledgements',
      [
        publish,
        accepted,
        delivered(2, { lease: 1 }),
        { ...acked, lease: 1 },
        { ...acked, lease: 1, atMs: 20 },
      ],
    ],
  ])('report as %s: %s', (checker, _what, entries) => {
    expect(found(entries)).toEqual([checker]);
  });

  it('allow a job to come again after its ack only if Redis may get a publish twice', () => {
    const again = delivered(1_100, { triesLeft: 1 });
    expect(found([publish, accepted, delivered(2), acked, again], { mayRepeat: true })).toEqual([]);
    expect(found([publish, accepted, delivered(2), acked, again])).toEqual(['duplicated']);
    // The first delivery of its second life was lost with its connection.
    const late = [publish, delivered(2), acked, { ...accepted, atMs: 20 }, delivered(1_100, { lease: 2 })];
    expect(found(late, { mayRepeat: true })).toEqual([]);
    expect(found(late)).toEqual(['duplicated']);
  });

  it('count a job as recovered if its publish was not answered and the job was delivered', () => {
    expect(recovered({ rules, entries: [publish, delivered(2), acked] })).toEqual(['1']);
    expect(recovered({ rules, entries: [publish, accepted, delivered(2), acked] })).toEqual([]);
  });

  it('read saved histories in a process of their own, and fail if a job is lost', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'pumphouse-history-'));
    const save = (name: string, entries: Entry[]): string => {
      const journal = new Journal();
      journal.entries.push(...entries);
      journal.save(join(dir, name), rules);
      return join(dir, name);
    };
    const sound = save('sound.jsonl', [publish, accepted, delivered(2), acked]);
    const bad = save('bad.jsonl', [publish, accepted]);
    expect(readHistory(sound)).toEqual({ rules, entries: [publish, accepted, delivered(2), acked] });
    const args = ['scripts/checks/history.mjs'];
    const { stdout } = await run(process.execPath, [...args, sound], { cwd: ROOT });
    expect(stdout).toContain('lost: 0');
    await expect(run(process.execPath, [...args, sound, bad], { cwd: ROOT })).rejects.toMatchObject({
      code: 1,
      stdout: expect.stringContaining('lost: 1') as string,
    });
    rmSync(dir, { recursive: true });
  });
});
