import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TestApp } from '../../../../test/support/app.js';
import { run } from '../program.js';

describe('pumphouse recurring', () => {
  let app: TestApp;
  let folder: string;
  let options: string[];

  beforeAll(async () => {
    app = await TestApp.start();
    folder = mkdtempSync(join(tmpdir(), 'pumphouse-cli-'));
    options = [
      '--url',
      `http://127.0.0.1:${String(app.port)}`,
      '--namespace',
      app.namespace,
      '--token',
      app.token,
    ];
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await app.stop();
  });

  async function call(...args: string[]): Promise<{ code: number; out: string; err: string }> {
    let [out, err] = ['', ''];
    const code = await run([...args, ...options], {
      out: (text) => (out += text),
      err: (text) => (err += text),
    });
    return { code, out, err };
  }
  function fileOf(text: string): string {
    const file = join(folder, 'recurring.toml');
    writeFileSync(file, text);
    return file;
  }
  const NIGHTLY = `
[nightly]
schedule = { cron = "30 2 * * *", tz = "Europe/Berlin" }
job = { queue = "reports", data = { report = "sales" }, tags = ["night"] }
overlap = "skip"
`;
  const HOURLY = `
[hourly]
schedule = { every_ms = 3600000, offset_ms = 3600000 }
job = { queue = "reports" }
`;

  it('apply creates, updates and deletes recurring jobs so that the namespace matches the file', async () => {
    const file = fileOf(NIGHTLY + HOURLY);
    expect((await call('recurring', 'apply', file, '--dry-run')).out).toBe(
      'would create  nightly\nwould create  hourly\n',
    );
    expect((await call('recurring', 'ls', '--json')).out).toBe('[]\n');
    expect((await call('recurring', 'apply', file, '--yes')).out).toBe('created  nightly\ncreated  hourly\n');
    expect((await call('recurring', 'apply', file, '--yes')).out).toMatch(
      /^unchanged +nightly\nunchanged +hourly\n$/,
    );
    fileOf(NIGHTLY.replace('30 2', '30 3'));
    expect((await call('recurring', 'apply', file, '--dry-run')).out).toBe(
      'would update  nightly\nwould delete  hourly\n',
    );
    expect((await call('recurring', 'apply', file, '--yes')).out).toBe('updated  nightly\ndeleted  hourly\n');
    const { out } = await call('recurring', 'ls');
    expect(out).toMatch(
      /^ID +SCHEDULE +QUEUE[^\n]*\nnightly +30 3 \* \* \* Europe\/Berlin +reports +active /,
    );
  });

  it('apply names the recurring job that the server refuses', async () => {
    const file = fileOf(`${NIGHTLY}${HOURLY.replace('"reports"', '"_no"')}`);
    const { code, err } = await call('recurring', 'apply', file, '--yes');
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(/^pumphouse: hourly: invalid_argument: job.queue: /),
    ]);
    const { err: json } = await call('recurring', 'apply', file, '--yes', '--json');
    expect(JSON.parse(json)).toMatchObject({ error: { code: 'invalid_argument', id: 'hourly' } });
    await call('recurring', 'rm', 'nightly');
  });

  describe('apply --dry-run', () => {
    const FULL = `
[full]
schedule = { cron = "0 6 * * *", tz = "UTC", start_at = 2027-01-01T00:00:00Z }
max_catch_up = 3
paused = true
note = "holiday"
[full.job]
queue = "reports"
data = { some_key = [1, 2.5, "x"] }
attributes = { some_key = "v" }
tags = ["a", "b"]
priority = -3
retry = { kind = "exponential", delay_ms = 1000, max_ms = 60000 }
unique = { key = "k" }
`;
    const FIRST = `
[first]
schedule = { every_ms = 60000, first_at = "2026-01-01T01:00:00+01:00" }
job = { queue = "reports", data_base64 = "AP8=" }
backlog = 0
`;
    const ALL = NIGHTLY + HOURLY + FULL + FIRST;
    const IDS = ['nightly', 'hourly', 'full', 'first'];
    const what = async (...args: string[]): Promise<string[]> => {
      const { out } = await call('recurring', 'apply', join(folder, 'recurring.toml'), '--json', ...args);
      return (JSON.parse(out) as { what: string }[]).map((one) => one.what);
    };

    afterAll(async () => {
      fileOf('');
      await what('--yes');
    });

    it('lists all entries as unchanged for the file that was applied', async () => {
      fileOf(ALL);
      await what('--yes');
      expect(await what('--dry-run')).toEqual(IDS.map(() => 'unchanged'));
      const { out, err } = await call('recurring', 'apply', join(folder, 'recurring.toml'));
      expect([out, err]).toEqual([IDS.map((id) => `unchanged  ${id}\n`).join(''), '']);
    });

    it('leaves one paused that an operator paused', async () => {
      fileOf(ALL);
      await what('--yes');
      await call('recurring', 'pause', 'nightly', '--note', 'broken');
      const unchanged = IDS.map(() => 'unchanged');
      expect([await what('--dry-run'), await what('--yes')]).toEqual([unchanged, unchanged]);
      expect((await call('recurring', 'ls')).out).toContain('paused: broken');
      await call('recurring', 'resume', 'nightly');
    });

    it.each<[from: string, to: string]>([
      ['overlap = "skip"', 'overlap = "replace"'],
      ['overlap = "skip"', ''],
      ['tags = ["night"]', 'tags = ["night", "new"]'],
      [', tags = ["night"]', ''],
      ['report = "sales"', 'report = "stock"'],
      ['offset_ms = 3600000', 'offset_ms = 3600001'],
      [', offset_ms = 3600000', ''],
      ['tz = "UTC"', 'tz = "Europe/Berlin"'],
      ['2027-01-01', '2027-01-02'],
      ['max_catch_up = 3', ''],
      ['paused = true', 'paused = false'],
      ['holiday', 'vacation'],
      ['2.5', '2.6'],
      ['some_key = "v"', 'someKey = "v"'],
      ['priority = -3', ''],
      ['max_ms = 60000', ''],
      ['key = "k"', 'key = "k", mode = "replace"'],
      ['T01:00:00+01:00', 'T01:00:00Z'],
      ['AP8=', 'AP8A'],
      ['backlog = 0', 'catch_up_ms = 5000\nmax_catch_up = 1000'],
    ])('lists the change that apply then makes: %j becomes %j', async (from, to) => {
      fileOf(ALL);
      await what('--yes');
      fileOf(ALL.replace(from, to));
      const planned = await what('--dry-run');
      expect(planned.filter((one) => one !== 'unchanged')).toEqual(['would update']);
      expect(await what('--yes')).toEqual(planned.map((one) => one.replace('would update', 'updated')));
    });

    it.each<[from: string, to: string]>([
      ['overlap = "skip"', 'overlap = "skip"\npaused = false\nnote = "not paused"\nmax_catch_up = 1'],
      ['T01:00:00+01:00', 'T00:00:00.000Z'],
      ['key = "k"', 'key = "k", mode = "existing", window_ms = 0'],
      ['backlog = 0', 'max_catch_up = 1000'],
      ['["night"]', '["night"], content_type = "application/json"'],
      ['tz = "UTC",', 'tz = "UTC", jitter_ms = 0,'],
    ])(
      'lists all entries as unchanged for a default or another form of a value: %j becomes %j',
      async (from, to) => {
        fileOf(ALL);
        await what('--yes');
        fileOf(ALL.replace(from, to));
        const unchanged = IDS.map(() => 'unchanged');
        expect(await what('--dry-run')).toEqual(unchanged);
        expect(await what('--yes')).toEqual(unchanged);
      },
    );
  });

  it('apply refuses an invalid or missing file, and changes nothing without --yes', async () => {
    const wrong = await call('recurring', 'apply', fileOf('x = 1'), '--yes');
    expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('x is not a table')]);
    const field = await call('recurring', 'apply', fileOf(NIGHTLY.replace('30 2', '61 2')), '--yes');
    expect([field.code, field.err]).toEqual([1, expect.stringContaining('schedule.cron')]);
    expect((await call('recurring', 'apply', 'none.toml', '--yes')).code).toBe(2);
    expect((await call('recurring', 'apply', fileOf(NIGHTLY))).err).toContain('Run it again with --yes');
    expect((await call('recurring', 'ls')).out).not.toContain('30 2');
  });

  it('set creates a recurring job from flags, and then changes only what is given', async () => {
    const refused = await call('recurring', 'set', 'report', '--queue', 'reports');
    expect([refused.code, refused.err]).toEqual([
      ...[2, 'pumphouse: report is new: give --queue, and --every, or --cron with --tz\n'],
    ]);
    const schedule = ['--cron', '30 2 * * *', '--tz', 'Europe/Berlin', '--jitter', '5m'];
    const job = [
      '--queue',
      'reports',
      '--data',
      '{"big":12345678901234567890}',
      '--retry',
      'none',
      '--tag',
      'a,b',
    ];
    const made = await call('recurring', 'set', 'report', ...schedule, ...job, '--overlap', 'skip');
    expect(made).toMatchObject({ code: 0, out: expect.stringMatching(/^report; next 20/) as string });
    const changed = await call('recurring', 'set', 'report', '--tries', '3', '--json');
    expect(JSON.parse(changed.out)).toMatchObject({
      ...{ id: 'report', schedule: { cron: '30 2 * * *', jitter_ms: 300_000 }, overlap: 'skip' },
      job: { queue: 'reports', tries: 3, retry: { kind: 'none' }, tags: ['a', 'b'] },
    });
    await call('recurring', 'rm', 'report');
  });

  it('pauses, resumes, runs, shows and deletes a recurring job', async () => {
    await call('recurring', 'apply', fileOf(NIGHTLY), '--yes');
    expect((await call('recurring', 'pause', 'nightly', '--note', 'holiday')).out).toBe('paused nightly\n');
    expect((await call('recurring', 'ls')).out).toContain('paused: holiday');
    expect((await call('recurring', 'resume', 'nightly')).out).toMatch(/^resumed nightly; next 20/);
    expect((await call('recurring', 'run', 'nightly')).out).toMatch(/^nightly-\d+\n$/);
    expect((await call('recurring', 'run', 'nightly')).err).toContain('unique_key_taken');
    const next = await call('recurring', 'next', 'nightly', '--count', '2');
    expect(next.out.split('\n')).toHaveLength(4);
    expect(next.out).toMatch(/T02:30:00\+0[12]:00/);
    const preview = await call('recurring', 'preview', '0 9 * * 1', '--tz', 'UTC', '--count', '3', '--json');
    expect(JSON.parse(preview.out)).toHaveLength(3);
    expect((await call('recurring', 'preview', '0 9 * * 1', '--tz', 'UTC')).out).toMatch(/T09:00:00/);
    const bounds = ['--start-at', '2030-01-07T09:00:01Z', '--end-at', '2030-01-15T00:00:00Z'];
    const within = await call('recurring', 'preview', '0 9 * * 1', '--tz', 'UTC', ...bounds, '--json');
    expect((JSON.parse(within.out) as { at: string }[]).map(({ at }) => at)).toEqual([
      '2030-01-14T09:00:00.000Z',
    ]);
    const wrong = await call('recurring', 'preview', '61 9 * * 1', '--tz', 'UTC');
    expect([wrong.code, wrong.err]).toEqual([1, expect.stringContaining('schedule.cron')]);
    expect(JSON.parse((await call('recurring', 'get', 'nightly')).out)).toMatchObject({ id: 'nightly' });
    expect((await call('recurring', 'rm', 'nightly')).out).toBe('deleted nightly\n');
    expect((await call('recurring', 'rm', 'nightly')).code).toBe(1);
  });
});
