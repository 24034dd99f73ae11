import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TestApp } from '../../../test/support/app.js';
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

  it('creates, updates and deletes until the namespace has what the file has', async () => {
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

  it('refuses a file that is wrong, and says what is', async () => {
    const wrong = await call('recurring', 'apply', fileOf('x = 1'), '--yes');
    expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('x is not a table')]);
    const field = await call('recurring', 'apply', fileOf(NIGHTLY.replace('30 2', '61 2')), '--yes');
    expect([field.code, field.err]).toEqual([1, expect.stringContaining('schedule.cron')]);
    expect((await call('recurring', 'apply', 'none.toml', '--yes')).code).toBe(2);
    expect((await call('recurring', 'apply', fileOf(NIGHTLY))).err).toContain('Run it again with --yes');
    expect((await call('recurring', 'ls')).out).not.toContain('30 2');
  });

  it('pauses, resumes and runs one, shows its next slots, and deletes it', async () => {
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
    const wrong = await call('recurring', 'preview', '61 9 * * 1', '--tz', 'UTC');
    expect([wrong.code, wrong.err]).toEqual([1, expect.stringContaining('schedule.cron')]);
    expect(JSON.parse((await call('recurring', 'get', 'nightly')).out)).toMatchObject({ id: 'nightly' });
    expect((await call('recurring', 'rm', 'nightly')).out).toBe('deleted nightly\n');
    expect((await call('recurring', 'rm', 'nightly')).code).toBe(1);
  });
});
