import { Pumphouse } from '@pumphouse/client';
import { TestApp } from '../../../test/support/app.js';
import { Cli } from '../../../test/support/cli.js';
import { waitFor } from '../../../test/support/redis.js';
import { TestTerminal } from '../../../test/support/terminal.js';
import { run } from './program.js';

/** The line that says that an operation has begun. */
const STARTED = /^Operation (\S+): Ctrl-C stops it\.\n/;

describe('operations on the command line', () => {
  let app: TestApp;
  let cli: Cli;
  let client: Pumphouse;
  let queue: string;
  let count = 0;

  beforeAll(async () => {
    app = await TestApp.start();
    const url = `http://127.0.0.1:${String(app.port)}`;
    const { namespace, token } = app;
    cli = new Cli({ PUMPHOUSE_URL: url, PUMPHOUSE_NAMESPACE: namespace, PUMPHOUSE_TOKEN: token });
    client = new Pumphouse({ url, namespace, token });
  });
  afterAll(async () => {
    client.close();
    cli.remove();
    await app.stop();
  });
  beforeEach(() => (queue = `o${String(count++)}`));

  const publish = (many: number, type = 'mail'): Promise<string[]> =>
    client
      .publishMany(
        Array.from({ length: many }, (_, i) => ({ queue, type, id: `${queue}-${type}-${String(i)}` })),
      )
      .then((jobs) => jobs.map(({ id }) => id));
  const stateOf = async (id: string): Promise<string> => (await client.jobs.get(id)).state;
  const output = (more: object = {}) => {
    const printed = { out: '', err: '' };
    const own = {
      out: (text: string) => void (printed.out += text),
      err: (text: string) => void (printed.err += text),
      ...more,
    };
    const server = ['--url', `http://127.0.0.1:${String(app.port)}`, '--namespace', app.namespace];
    return { printed, call: (...args: string[]) => run([...args, ...server, '--token', app.token], own) };
  };

  it('count the jobs of the filters and show samples without --yes, and with --dry-run', async () => {
    const ids = await publish(7);
    for (const more of [[], ['--yes', '--dry-run']]) {
      const { code, out, err } = await cli.call('job', 'cancel', '--queue', queue, ...more);
      expect([code, err]).toEqual([0, 'Nothing was changed. Run it again with --yes to do it.\n']);
      const [first, ...samples] = out.trimEnd().split('\n');
      expect(first).toBe('would cancel 7 jobs, among them:');
      expect(samples).toEqual(ids.slice(0, 5).map((id) => `${id}  ${queue}  ready`));
    }
    const none = await cli.call('job', 'cancel', '--queue', queue, '--type', 'none');
    expect(none).toEqual({ code: 0, out: 'No job matches.\n', err: '' });
    expect(await stateOf(ids[6]!)).toBe('ready');
  });

  it('cancel, delete, move and change the jobs of the filters with --yes', async () => {
    const [cancelled = ''] = await publish(2, 'a');
    expect((await cli.call('job', 'cancel', '--queue', queue, '--type', 'a', '--yes')).out).toBe(
      'cancelled 2 jobs\n',
    );
    const kept = await publish(2, 'b');
    const set = ['job', 'set', '--where-queue', queue, '--where-type', 'b', '--priority', '-5', '--yes'];
    expect((await cli.call(...set)).out).toBe('changed 2 jobs\n');
    expect(await client.jobs.get(kept[1]!)).toMatchObject({ priority: -5 });
    expect((await cli.call('job', 'move', `${queue}-2`, '--queue', queue, '--yes')).out).toBe(
      'moved 2 jobs\n',
    );
    expect(await client.jobs.get(kept[0]!)).toMatchObject({ queue: `${queue}-2` });
    const rm = ['job', 'rm', '--queue', `${queue}-2`, '--yes'];
    expect((await cli.call(...rm)).out).toBe('deleted 2 jobs\n');
    expect(await cli.call(...rm)).toMatchObject({ code: 0, out: 'Nothing was deleted.\n' });
    await expect(client.jobs.get(cancelled)).rejects.toMatchObject({ code: 'job_not_found' });
  });

  it('can be undone for the time of --undo, and say what could not come back', async () => {
    const [first = '', second = ''] = await publish(2);
    const rm = await cli.call('job', 'rm', '--queue', queue, '--undo', '10m', '--yes');
    expect(rm).toMatchObject({ code: 0, out: 'deleted 2 jobs\n' });
    const [, until = '', id = ''] =
      /Until (\S+) it can be undone: pumphouse operation undo (\S+)\n$/.exec(rm.err) ?? [];
    expect(Date.parse(until)).toBeGreaterThan(Date.now() + 500_000);
    await client.publish({ queue: `${queue}-2`, id: second });
    const undone = await cli.call('operation', 'undo', id);
    expect([undone.code, undone.out]).toEqual([1, 'brought back 1 job\n']);
    expect(undone.err.split('\n').slice(-3)).toEqual([
      '1 job was not brought back: another job has their id',
      'pumphouse: 1 job could not come back',
      '',
    ]);
    const again = await cli.call('operation', 'undo', id);
    expect([again.code, again.out]).toEqual([1, 'It was undone already: 1 job came back.\n']);
    const listed = (await cli.call('operation', 'ls')).out.split('\n').map((line) => line.split(/\s{2,}/));
    expect(listed[0]!.slice(3, 7)).toEqual(['MATCHED', 'DONE', 'FAILED', 'UNDO']);
    expect(listed.find(([one]) => one === id)!.slice(3, 7)).toEqual(['2', '2', '0', 'done']);
    expect(await stateOf(first)).toBe('ready');
    expect((await client.jobs.get(second)).queue).toBe(`${queue}-2`);
    const dead = await cli.call('dead', 'rm', '--queue', queue, '--undo', '1m', '--yes');
    expect(dead).toMatchObject({ code: 0, out: 'Nothing was deleted.\n' });
    for (const args of [
      ['job', 'cancel', first, '--undo', '10m'],
      ['job', 'rm', '--queue', queue, '--undo', '1s'],
    ])
      expect((await cli.call(...args)).code).toBe(2);
    const { code, err } = await cli.call('operation', 'undo', 'none');
    expect([code, err]).toEqual([1, expect.stringContaining('there is no operation none')]);
  });

  it('make dead jobs and those that wait for their next attempt ready by job retry', async () => {
    const [id = ''] = await publish(1);
    const { signal } = new AbortController();
    const [job] = await client.driver.lease({ queues: [queue], count: 1, waitMs: 0, ttrMs: 5_000, signal });
    await client.driver.retry(job!, { group: 'smtp', message: 'no', delayMs: 3_600_000 });
    expect(await stateOf(id)).toBe('scheduled');
    expect((await cli.call('job', 'retry', '--queue', queue, '--yes')).out).toBe('retried 1 job\n');
    expect(await stateOf(id)).toBe('ready');
  });

  it('exit with 1 if jobs are refused, and name what to do', async () => {
    const [first = ''] = await publish(1);
    await client.publish({ queue: `${queue}-2`, dependsOn: [first] });
    const { code, out, err } = await cli.call('job', 'cancel', '--queue', queue, '--yes');
    expect([code, out]).toEqual([1, 'Nothing was cancelled.\n']);
    expect(err.split('\n').slice(1)).toEqual([
      '1 job was not cancelled: other jobs depend on them; `job cancel --cascade` cancels those, too',
      'pumphouse: 1 of 1 job was not cancelled',
      '',
    ]);
    expect((await cli.call('job', 'cancel', '--queue', queue, '--cascade', '--yes')).code).toBe(0);
  });

  it('need ids, filters or --all, and not two of them', async () => {
    for (const args of [
      ['job', 'cancel', '--yes'],
      ['job', 'rm', 'one', '--queue', queue],
      ['job', 'move', 'other', '--all', '--queue', queue],
      ['job', 'rm', '--queue', queue, '--force'],
      ['job', 'set', '--priority', '1'],
    ]) {
      const { code, err } = await cli.call(...args);
      expect([args, code]).toEqual([args, 2]);
      expect(err).toMatch(/choose the jobs by their ids, by filters|--force needs ids/);
    }
  });

  it('do not begin with ids: --dry-run and --rate are refused, and change nothing', async () => {
    const [id = ''] = await publish(1);
    for (const args of [
      ['job', 'cancel', id, '--dry-run'],
      ['job', 'set', id, '--priority', '1', '--dry-run'],
      ['job', 'rm', id, '--rate', '1', '--yes'],
    ]) {
      const { printed, call } = output();
      expect([args, await call(...args)]).toEqual([args, 2]);
      expect(printed.err).toContain('--dry-run, --rate and --undo need filters');
    }
    expect(await client.jobs.get(id)).toMatchObject({ state: 'ready', priority: 0 });
  });

  it('draw their progress on a terminal, and print nothing but the operation with --json', async () => {
    await publish(3);
    const terminal = new TestTerminal();
    const { printed, call } = output({ progressTo: terminal });
    expect(await call('job', 'cancel', '--queue', queue, '--yes')).toBe(0);
    expect(printed).toEqual({ out: 'cancelled 3 jobs\n', err: expect.stringMatching(STARTED) as string });
    expect(terminal.bars.at(-1)).toBe(`[${'='.repeat(30)}] 3/3`);
    terminal.text = '';
    printed.err = '';
    expect(await call('job', 'rm', '--queue', queue, '--yes', '--json')).toBe(0);
    expect([terminal.text, printed.err]).toEqual(['', '']);
    const shown: unknown = JSON.parse(printed.out.split('\n')[1]!);
    expect(shown).toMatchObject({ state: 'done', dry_run: false, action: 'delete', filter: { queue } });
  });

  it('are stopped by Ctrl-C, which says so, and exit with 1', async () => {
    await publish(200);
    const {
      child,
      ended,
      output: printed,
    } = cli.start(...['job', 'cancel', '--queue', queue, '--rate', '1', '--yes']);
    await waitFor(() => STARTED.test(printed().err), 10_000);
    child.kill('SIGINT');
    const { code, err } = await ended;
    const [, id = ''] = STARTED.exec(err) ?? [];
    expect(code).toBe(1);
    expect(err).toContain(`Stopping ${id}; what is done stays done.`);
    expect(err).toContain('pumphouse: the operation was stopped after ');
    const { state, done } = await client.operations.get(id);
    expect([state, done < 200]).toEqual(['stopped', true]);
  });

  it('are listed, shown and stopped by pumphouse operation', async () => {
    await publish(200);
    const filter = { queue };
    const { id } = await client.operations.start({ action: 'cancel', filter, ratePerS: 1 });
    const listed = (await cli.call('operation', 'ls')).out.split('\n').map((line) => line.split(/\s{2,}/));
    expect(listed[0]).toEqual([
      'ID',
      'ACTION',
      'STATE',
      'MATCHED',
      'DONE',
      'FAILED',
      'UNDO',
      'CREATED',
      'FILTER',
    ]);
    const row = listed.find(([first]) => first === id);
    expect(row?.slice(1, 3)).toEqual(['cancel', 'running']);
    expect(row?.[8]).toContain(`queue=${queue} `);
    expect((await cli.call('operation', 'show', id)).out).toMatch(/^rate_per_s +1$/m);
    expect((await cli.call('operation', 'stop', id)).out).toMatch(/^stopped after \d+ jobs?\n$/);
    const gone = await cli.call('operation', 'show', 'unknown');
    expect([gone.code, gone.err]).toEqual([1, expect.stringContaining('pumphouse operation ls')]);
  });

  it('say how to follow an operation when the server is gone', async () => {
    const other = await TestApp.start();
    const own = new Pumphouse({
      url: `http://127.0.0.1:${String(other.port)}`,
      namespace: other.namespace,
      token: other.token,
    });
    await own.publishMany(Array.from({ length: 50 }, () => ({ queue })));
    const { ended, output: printed } = cli.start(
      ...['job', 'cancel', '--queue', queue, '--rate', '1', '--yes', '--timeout', '5'],
      ...['--url', `http://127.0.0.1:${String(other.port)}`, '--namespace', other.namespace],
      ...['--token', other.token],
    );
    await waitFor(() => STARTED.test(printed().err), 10_000);
    own.close();
    await other.stop();
    const { code, err } = await ended;
    expect([code, err]).toEqual([
      2,
      expect.stringMatching(/goes on in the server: pumphouse operation show \S+\n/),
    ]);
  });
});
