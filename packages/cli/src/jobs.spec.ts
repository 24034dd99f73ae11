import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Explanation, Pumphouse } from '@pumphouse/client';
import { TestApp } from '../../../test/support/app.js';
import { Cli } from '../../../test/support/cli.js';
import { waitFor } from '../../../test/support/redis.js';
import { TestTerminal } from '../../../test/support/terminal.js';
import { NOT_RESPAWNED } from './bulk.js';
import { run } from './program.js';

const HOSTILE = '\u001b[2J\u001b]0;owned\u0007\u202e\r\nnext';

describe('pumphouse job, queue and dead', () => {
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
  beforeEach(() => (queue = `q${String(count++)}`));

  /** The columns of each line. */
  const cellsOf = (text: string): string[][] =>
    text
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/\s{2,}/));

  async function dead(of: string, group: string, message = 'no'): Promise<string> {
    const { id } = await client.publish({ queue: of, type: 'mail', data: {} });
    const { signal } = new AbortController();
    const [job] = await client.driver.lease({ queues: [of], count: 1, waitMs: 0, ttrMs: 5_000, signal });
    await client.driver.fail(job!, { group, message });
    return id;
  }

  describe('pumphouse job publish', () => {
    it('publishes the JSON of an argument with options, and prints the id', async () => {
      const { code, out, err } = await cli.call(
        ...['job', 'publish', queue, '{"big":12345678901234567890}', '--type', 'welcome', '--delay', '1h'],
        ...['--ttl', '2d', '--tries', '3', '--priority', '-4', '--tag', 'a,b', '--tag', 'c'],
        ...['--attribute', 'shop=north=1', '--unique', `key-${queue}`, '--id', `job-${queue}`],
      );
      expect({ code, out, err }).toEqual({ code: 0, out: `job-${queue}\n`, err: '' });
      const shown = await app.get(`/v1/${app.namespace}/jobs/job-${queue}`);
      expect(shown.text).toContain('{"big":12345678901234567890}');
      expect(shown.json).toMatchObject({
        ...{ state: 'scheduled', type: 'welcome', tries: 3, priority: -4, tags: ['a', 'b', 'c'] },
        ...{ attributes: { shop: 'north=1' }, unique_key: `key-${queue}` },
      });
    });

    it('publishes JSON, bytes, or one job for each line of the standard input', async () => {
      const one = await cli.callWith('{"n":1}\n', 'job', 'publish', queue, '--json');
      const { id } = JSON.parse(one.out) as { id: string };
      expect(await client.jobs.get(id)).toMatchObject({ data: { n: 1 } });
      const bytes = Buffer.from([0, 255, 10, 13]);
      const binary = await cli.callWith(bytes, 'job', 'publish', queue, '-', '--content-type', 'image/png');
      const stored = await client.jobs.get(binary.out.trim());
      expect([stored.contentType, Buffer.from(stored.data as Uint8Array)]).toEqual(['image/png', bytes]);
      const shown = await cli.call('job', 'show', stored.id, '--json');
      expect(JSON.parse(shown.out)).toMatchObject({ data_base64: bytes.toString('base64') });
      const lines = Array.from({ length: 130 }, (_, i) => `{"line":${String(i)}}`).join('\r\n');
      const many = await cli.callWith(`${lines}\n`, 'job', 'publish', queue, '--lines');
      expect([many.code, many.err]).toEqual([0, '']);
      const ids = many.out.trimEnd().split('\n');
      expect(ids).toHaveLength(130);
      expect(await client.jobs.get(ids[129]!)).toMatchObject({ data: { line: 129 } });
    });

    it('stores no job if a line is not JSON, and names the line', async () => {
      const { code, out, err } = await cli.callWith('{}\nhello\n', 'job', 'publish', queue, '--lines');
      expect([code, out]).toEqual([2, '']);
      expect(err).toBe(
        `pumphouse: line 2 is not JSON: quote text ('"hello"'), or give --content-type text/plain\n`,
      );
      expect((await client.queues.get(queue)).exists).toBe(false);
      const nothing = await cli.callWith('', 'job', 'publish', queue);
      expect([nothing.code, nothing.err]).toEqual([
        2,
        expect.stringContaining('the standard input is empty'),
      ]);
      expect((await cli.callWith('', 'job', 'publish', queue, '--lines')).code).toBe(0);
    });

    it('stores one job for two calls with one idempotency key, and says that the second one is a replay', async () => {
      const keyed = ['job', 'publish', queue, '1', '--idempotency-key', `k-${queue}`];
      const [first, second] = [await cli.call(...keyed), await cli.call(...keyed)];
      expect([first.code, first.err]).toEqual([0, '']);
      expect(second).toEqual({
        ...{ code: 0, out: first.out },
        err: 'Nothing was stored: the idempotency key was used before.\n',
      });
      const third = JSON.parse((await cli.call(...keyed, '--json')).out) as object;
      expect(third).toMatchObject({ id: first.out.trim(), replayed: true, existing: false });
      expect((await client.queues.get(queue)).length).toBe(1);
    });

    it('keeps an idempotency key for a time, and refuses a time without a key', async () => {
      const keyed = ['job', 'publish', queue, '1', '--idempotency-key', `t-${queue}`];
      expect((await cli.call(...keyed, '--idempotency-ttl', '31d')).err).toContain('Idempotency-TTL-Ms: ');
      expect(await cli.call(...keyed, '--idempotency-ttl', '1s')).toMatchObject({ code: 0, err: '' });
      await waitFor(async () => (await cli.call(...keyed, '--idempotency-ttl', '1s')).err === '', 10_000);
      const without = await cli.call('job', 'publish', queue, '1', '--idempotency-ttl', '1h');
      expect([without.code, without.err]).toEqual([
        2,
        expect.stringContaining('--idempotency-ttl needs --idempotency-key'),
      ]);
    });

    it('names a dependency that does not exist', async () => {
      const { code, err } = await cli.call('job', 'publish', queue, '1', '--depends-on', `${queue}-typo`);
      expect([code, err]).toEqual([0, `There is no job ${queue}-typo: as a dependency it counts as done.\n`]);
    });

    it('says that nothing was stored if another job has the unique key', async () => {
      const unique = ['job', 'publish', queue, '1', '--unique', `u-${queue}`];
      const [first, second] = [await cli.call(...unique), await cli.call(...unique)];
      expect([first.err, second.out]).toEqual(['', first.out]);
      expect(second.err).toBe('Nothing was stored: this job has the unique key.\n');
    });
  });

  describe('pumphouse job publish with options', () => {
    it('sets each option of a job that the API has', async () => {
      const first = await cli.call('job', 'publish', queue, '1', '--json');
      const { id: before } = JSON.parse(first.out) as { id: string };
      const { code, out, err } = await cli.call(
        ...['job', 'publish', queue, '{}', '--depends-on', before, '--on-dependency-failure', 'ignore'],
        ...['--concurrency-key', 'shop-1', '--retention', '2h', '--ttr', '1m', '--max-run', '10m'],
        ...['--lease-grace', '5s', '--retry', 'exponential', '--retry-delay', '1s', '--retry-max', '5m'],
        ...['--unique', `u-${queue}`, '--unique-mode', 'reject', '--history', '--durability', 'memory'],
        ...['--type', 'x', '--json'],
      );
      expect([code, err]).toEqual([0, '']);
      const { id } = JSON.parse(out) as { id: string };
      expect(await client.jobs.get(id)).toMatchObject({
        ...{ state: 'blocked', dependsOn: [before], onDependencyFailure: 'ignore' },
        ...{ concurrencyKey: 'shop-1', retentionMs: 7_200_000, ttrMs: 60_000, maxRunMs: 600_000 },
        ...{ leaseGraceMs: 5_000, retry: { kind: 'exponential', delayMs: 1_000, maxMs: 300_000 } },
        ...{ uniqueKey: `u-${queue}` },
      });
      const again = await cli.call(
        ...['job', 'publish', queue, '{}', '--unique', `u-${queue}`, '--unique-mode', 'reject'],
      );
      expect([again.code, again.err]).toEqual([1, expect.stringContaining('unique_key_taken')]);
      const later = await cli.call('job', 'publish', queue, '{}', '--run-at', '2099-01-31T00:00:00Z');
      expect(await client.jobs.get(later.out.trim())).toMatchObject({ state: 'scheduled' });
    });

    it('waits for the end of the job with --wait, and fails if it is not done', async () => {
      const waiting = cli.call('job', 'publish', queue, '{"n":1}', '--wait', '20s', '--json');
      const { signal } = new AbortController();
      const lease = { queues: [queue], count: 1, waitMs: 20_000, ttrMs: 60_000, signal };
      const [job] = await client.driver.lease(lease);
      const { id: leased, lease: number } = job!;
      await client.driver.ack([{ id: leased, queue, lease: number, result: { json: '{"sent":true}' } }]);
      const { code, out, err } = await waiting;
      expect([code, err]).toEqual([0, '']);
      expect(JSON.parse(out)).toMatchObject({ id: job!.id, state: 'done', result: { sent: true } });
      const late = await cli.call('job', 'publish', queue, '1', '--wait', '1ms');
      expect([late.code, late.out]).toEqual([1, expect.stringMatching(/^state +ready$/m)]);
      expect(late.err).toMatch(/^pumphouse: \S+ is not done: it is ready\n$/);
    });

    it('refuses input that is not UTF-8, and keeps it as bytes with --content-type', async () => {
      const latin1 = Buffer.from('"caf\xe9"\n', 'latin1');
      const refused = await cli.callWith(latin1, 'job', 'publish', queue);
      expect(refused.code).toBe(2);
      expect(refused.err).toMatch(/^pumphouse: cannot read the standard input: it is not UTF-8/);
      expect(refused.err).toContain('--content-type');
      const lines = Buffer.concat([Buffer.from('"ok"\n'), latin1]);
      const second = await cli.callWith(lines, 'job', 'publish', queue, '--lines');
      expect([second.code, second.err]).toEqual([
        2,
        expect.stringContaining('cannot read line 2: it is not'),
      ]);
      expect((await client.queues.get(queue)).exists).toBe(false);
      const kept = await cli.callWith(
        lines,
        'job',
        'publish',
        queue,
        '--lines',
        '--content-type',
        'text/csv',
      );
      const { data } = await client.jobs.get(kept.out.trimEnd().split('\n')[1]!);
      expect(Buffer.from(data as Uint8Array)).toEqual(latin1.subarray(0, -1));
    });
  });

  it('lists jobs, and reports whether there are more than --limit', async () => {
    for (let i = 0; i < 3; i++)
      await client.publish({ queue, type: 't', tags: ['x', 'y'], id: `${queue}-${String(i)}` });
    const all = await cli.call('job', 'ls', '--queue', queue, '--state', 'ready');
    expect(all.err).toBe('');
    const [headings, first, ...rest] = cellsOf(all.out);
    expect(headings).toEqual(['ID', 'QUEUE', 'STATE', 'TYPE', 'TRIES LEFT', 'PUBLISHED', 'DUE', 'TAGS']);
    expect(first).toEqual([`${queue}-0`, queue, 'ready', 't', '5', expect.stringMatching(/^20/), '-', 'x,y']);
    expect(rest).toHaveLength(2);
    const two = await cli.call('job', 'ls', '--queue', queue, '--limit', '2', '--order', 'newest', '--json');
    expect((JSON.parse(two.out) as { id: string }[]).map(({ id }) => id)).toEqual([
      `${queue}-2`,
      `${queue}-1`,
    ]);
    expect(two.err).toBe('There are more: these are the first 2 (--limit).\n');
    const stalled = await cli.call('job', 'ls', '--queue', queue, '--state', 'stalled', '--json');
    expect(JSON.parse(stalled.out)).toEqual([]);
  });

  it('shows control characters of job data in escaped form', async () => {
    const { id } = await client.publish({ queue, type: 'x', data: { text: HOSTILE }, history: true });
    await client.jobs.log(id, HOSTILE);
    const died = await dead(`${queue}-b`, 'smtp', HOSTILE);
    for (const args of [
      ...[
        ['job', 'show', id],
        ['job', 'show', id, '--json'],
        ['dead', 'ls', '--queue', `${queue}-b`],
      ],
      ['job', 'show', died],
    ]) {
      const { out } = await cli.call(...args);
      expect(out).toContain('owned');
      expect(out.replaceAll('\n', '')).not.toMatch(/[^ -~]/);
    }
    expect((await cli.call('job', 'show', HOSTILE)).err.trimEnd()).not.toMatch(/[^ -~]/);
  });

  it('shows the stack of the last failure once, and only its first line elsewhere', async () => {
    const { out } = await cli.call(
      'job',
      'show',
      await dead(queue, 'smtp', 'Error: refused\n    at send (a.js:1)'),
    );
    expect(out).toMatch(/\nlast failure:\n {2}Error: refused\n {6}at send \(a\.js:1\)\n$/);
    expect(out).toMatch(/^failure .*"Error: refused \.\.\."/m);
    expect(out).toMatch(/ died +.*message=Error: refused \.\.\./);
    expect(out.split('at send')).toHaveLength(2);
  });

  it('job set changes what is given of jobs that wait', async () => {
    const { id } = await client.publish({ queue, type: 'x', priority: 3, delayMs: 60_000 });
    const changed = await cli.call(
      'job',
      'set',
      id,
      '--priority',
      '-5',
      '--retry',
      'fixed',
      '--retry-delay',
      '9s',
    );
    expect(changed).toEqual({ code: 0, out: `scheduled  ${id}\n`, err: '' });
    expect(await client.jobs.get(id)).toMatchObject({
      ...{ type: 'x', priority: -5, retry: { kind: 'fixed', delayMs: 9_000 } },
    });
    const nothing = await cli.call('job', 'set', id);
    expect([nothing.code, nothing.err]).toEqual([2, expect.stringContaining('give what to change')]);
    await client.jobs.delete(id);
  });

  it('job cancel, move, revoke and rm cancel, move, revoke and delete jobs', async () => {
    const publish = async (): Promise<string> => (await client.publish({ queue, type: 'x' })).id;
    const [one, two, three] = [await publish(), await publish(), await publish()];
    expect((await cli.call('job', 'cancel', one)).out).toBe(`cancelled  ${one}\n`);
    expect((await cli.call('job', 'move', `${queue}-b`, two)).out).toBe(`moved 1 job to ${queue}-b\n`);
    expect(await client.jobs.get(two)).toMatchObject({ queue: `${queue}-b` });
    const { signal } = new AbortController();
    await client.driver.lease({ queues: [queue], count: 1, waitMs: 0, ttrMs: 60_000, signal });
    expect((await cli.call('job', 'rm', three)).code).toBe(1);
    expect((await cli.call('job', 'revoke', three)).out).toBe(`ready  ${three}\n`);
    expect((await cli.call('job', 'rm', three, two)).out).toBe('deleted 2 jobs\n');
    const gone = await cli.call('job', 'show', three);
    expect([gone.code, gone.out]).toEqual([1, '']);
    expect(gone.err).toContain('job_not_found');
  });

  describe('calls with several names', () => {
    const publish = async (): Promise<string> => (await client.publish({ queue, type: 'x' })).id;

    it.each([
      ['cancel', [], 'cancelled'],
      ['move', ['other-queue'], 'other-queue'],
      ['rm', [], 'deleted'],
    ])(
      'report each job of `job %s`, continue after a failure, and exit with 1',
      async (what, before, done) => {
        const [one, two] = [await publish(), await publish()];
        const { code, out, err } = await cli.call('job', what, ...before, one, 'gone', two);
        expect([code, out]).toEqual([1, expect.stringContaining(done)]);
        expect(err).toMatch(/^pumphouse: gone: job_not_found: .*\npumphouse: 1 of 3 failed\n$/);
        const [three, four] = [await publish(), await publish()];
        const asJson = await cli.call('job', what, ...before, three, 'gone', four, '--json');
        expect(asJson.code).toBe(1);
        expect(JSON.parse(asJson.out)).toEqual([
          expect.objectContaining({ id: three }),
          { id: 'gone', error: expect.objectContaining({ code: 'job_not_found', status: 404 }) as unknown },
          expect.objectContaining({ id: four }),
        ]);
        expect(JSON.parse(asJson.err)).toEqual({ error: { code: 'some_failed', message: '1 of 3 failed' } });
      },
    );

    it('report each name of `job revoke`, `queue pause` and `queue rm`, and exit with 1 after a failure', async () => {
      const id = await publish();
      const { signal } = new AbortController();
      await client.driver.lease({ queues: [queue], count: 1, waitMs: 0, ttrMs: 60_000, signal });
      const revoked = await cli.call('job', 'revoke', 'gone', id);
      expect([revoked.code, revoked.out]).toEqual([1, `ready  ${id}\n`]);
      expect(revoked.err).toContain('pumphouse: gone: job_not_found');
      const paused = await cli.call('queue', 'pause', 'no/name', queue);
      expect([paused.code, paused.out]).toEqual([1, `paused ${queue}\n`]);
      await client.jobs.delete(id);
      const deleted = await cli.call('queue', 'rm', `${queue}-none`, queue);
      expect([deleted.code, deleted.out]).toEqual([1, `deleted ${queue}\n`]);
      expect(deleted.err).toContain(`pumphouse: ${queue}-none: queue_not_found`);
    });

    it('end with exit code 2 at the first name if the server does not answer', async () => {
      const away = ['--url', 'http://127.0.0.1:1', '--timeout', '0.3'];
      const { code, out, err } = await cli.call('job', 'rm', 'a', 'b', 'c', ...away);
      expect([code, out]).toEqual([2, '']);
      expect(err).toMatch(/\npumphouse: 1 of 3 failed, 2 were not tried\n$/);
    });
  });

  it('prints errors as JSON with --json', async () => {
    const errorOf = async (...args: string[]): Promise<unknown> => {
      const { out, err } = await cli.call(...args, '--json');
      expect(out).toBe('');
      return (JSON.parse(err) as { error: unknown }).error;
    };
    expect(await errorOf('job', 'show', 'gone')).toMatchObject({ code: 'job_not_found', status: 404 });
    expect(await errorOf('queue', 'ls', '--token', 'x')).toMatchObject({
      ...{
        code: 'token_invalid',
        status: 401,
        message: expect.stringContaining('pumphouse token create') as unknown,
      },
    });
    expect(await errorOf('queue', 'set', queue, 'max_runing=1')).toMatchObject({
      fields: [{ field: 'max_runing', rule: expect.any(String) as unknown }],
    });
    expect(await errorOf('queue', 'shwo', queue)).toMatchObject({
      ...{ code: 'usage', message: expect.stringContaining('unknown command') as unknown },
    });
    expect(await errorOf('pools', '--admin', 'http://127.0.0.1:1')).toMatchObject({ code: 'failed' });
  });

  it('job publish --lines prints the ids of 64 stored lines if a later line is refused', async () => {
    const tooLong = `"${'x'.repeat(70_000)}"`;
    const lines = `${'1\n'.repeat(64)}${tooLong}\n`;
    const { code, out, err } = await cli.callWith(lines, 'job', 'publish', queue, '--lines');
    expect(code).toBe(1);
    expect(out.trimEnd().split('\n')).toHaveLength(64);
    expect(err).toContain('pumphouse: lines 1 to 64 are stored; continue after them\n');
  });

  it('job publish --lines stores nothing again under the same idempotency key', async () => {
    const lines = Array.from({ length: 70 }, (_, i) => `${String(i)}\n`).join('');
    const publish = () =>
      cli.callWith(lines, 'job', 'publish', queue, '--lines', '--idempotency-key', `k-${queue}`);
    const first = await publish();
    expect([first.code, first.out.trimEnd().split('\n').length]).toEqual([0, 70]);
    expect(await publish()).toEqual(first);
    expect((await client.queues.get(queue)).counts.ready).toBe(70);
  });

  it('job publish --lines names the lines that may be stored if there is no answer', async () => {
    const server = ['--url', 'http://127.0.0.1:1', '--timeout', '0.5'];
    const { code, err } = await cli.callWith('1\n2\n', 'job', 'publish', queue, '--lines', ...server);
    expect(code).toBe(2);
    expect(err).toContain('pumphouse: lines 1 to 2 may be stored. Send all again only if');
  });

  it('queue purge draws its progress on a terminal, and not with --json', async () => {
    await client.publishMany([{ queue }, { queue }]);
    const terminal = new TestTerminal();
    let [out, err] = ['', ''];
    const output = {
      out: (text: string) => void (out += text),
      err: (text: string) => void (err += text),
      progressTo: terminal,
    };
    const server = ['--url', `http://127.0.0.1:${String(app.port)}`, '--namespace', app.namespace];
    const purge = ['queue', 'purge', queue, '--state', 'all', '--yes', '--token', app.token];
    expect(await run([...purge, ...server], output)).toBe(0);
    expect([out, err]).toEqual([expect.stringContaining('deleted 2 jobs\n'), '']);
    expect(terminal.bars).toEqual([`[${'-'.repeat(30)}] 0/2`, `[${'='.repeat(30)}] 2/2`]);
    await client.publish({ queue });
    terminal.text = '';
    expect(await run([...purge, ...server, '--json'], output)).toBe(0);
    expect(terminal.text).toBe('');
  });

  it('job cancel names the jobs that depend on one, and with --cascade those that end with it', async () => {
    const { id: first } = await client.publish({ queue });
    const { id: second } = await client.publish({ queue, dependsOn: [first] });
    const refusal = `has_dependents: other jobs depend on it: ${second}`;
    const refused = await cli.call('job', 'cancel', first);
    expect([refused.code, refused.err]).toEqual([
      1,
      expect.stringMatching(new RegExp(`^pumphouse: ${refusal} .*\n.*job cancel --cascade.*\n$`)),
    ]);
    const several = await cli.call('job', 'cancel', first, 'unknown');
    expect(several.err).toContain(`${first}: ${refusal}`);
    expect(several.err).toContain('job cancel --cascade');
    expect(await cli.call('job', 'cancel', first, '--cascade')).toEqual({
      ...{ code: 0, out: `cancelled  ${first}\n` },
      err: `The jobs that depend on ${first}, directly or not, end with it: ${second}\n`,
    });
  });

  it('job show names the failed dependencies of a job that waits for no other one', async () => {
    const [{ id: first }, { id: second }] = [
      await client.publish({ queue }),
      await client.publish({ queue }),
    ];
    const { id } = await client.publish({ queue, dependsOn: [first, second] });
    await client.jobs.delete(first, { force: true });
    const shown = async (): Promise<string> => (await cli.call('job', 'show', id)).out;
    expect(await shown()).toMatch(
      new RegExp(
        `^depends_on +${second}\ndependencies +${first} \\(deleted\\),${second} \\(ready\\)\nfailed_dependencies +${first} \\(deleted\\)$`,
        'm',
      ),
    );
    await client.jobs.delete(second, { force: true });
    expect(await shown()).toMatch(/^depends_on +- \(blocked by failed_dependencies\)$/m);
    expect(JSON.parse((await cli.call('job', 'show', id, '--json')).out)).toMatchObject({
      ...{ depends_on: [], failed_dependencies: { [first]: 'deleted', [second]: 'deleted' } },
    });
  });

  it('job retry respawns dead jobs by their ids, and job move moves them to another queue', async () => {
    const [one, two] = [await dead(queue, 'a'), await dead(queue, 'a')];
    expect((await cli.call('job', 'retry', one)).out).toBe('respawned 1 job\n');
    expect(await client.jobs.get(one)).toMatchObject({ state: 'ready' });
    const again = await cli.call('job', 'retry', one, 'unknown', '--json');
    expect(again).toEqual({
      code: 1,
      out: '{"jobs":0}\n',
      err: `{"error":{"code":"refused","message":"2 of 2 jobs were not respawned: ${NOT_RESPAWNED}; ${one} is ready; unknown is gone","status":404}}\n`,
    });
    const third = await dead(queue, 'a');
    const mixed = await cli.call('job', 'retry', one, third, 'unknown');
    expect(mixed).toEqual({
      ...{ code: 1, out: 'respawned 1 job\n' },
      err: `pumphouse: 2 of 3 jobs were not respawned: ${NOT_RESPAWNED}; unknown is gone\n`,
    });
    await cli.call('job', 'move', `${queue}-b`, two);
    expect(await client.jobs.get(two)).toMatchObject({ state: 'ready', queue: `${queue}-b` });
  });

  describe('pumphouse dead', () => {
    it('lists dead jobs that match filters with the first lines of their failures, and lists failure groups', async () => {
      const id = await dead(queue, 'smtp', '554 Refused by policy\n    at send (mail.js:7)');
      await dead(queue, 'address');
      const { out } = await cli.call('dead', 'ls', '--queue', queue, '--group', 'smtp', '--text', 'refused');
      const [headings, row, ...others] = cellsOf(out);
      expect(headings).toEqual(['ID', 'QUEUE', 'TYPE', 'DIED', 'ATTEMPTS', 'GROUP', 'MESSAGE']);
      expect([row?.[0], row?.[5], row?.[6], others]).toEqual([id, 'smtp', '554 Refused by policy', []]);
      const [head, ...groups] = cellsOf((await cli.call('dead', 'groups')).out);
      expect(head).toEqual(['GROUP', 'JOBS', 'FIRST', 'LAST', 'LAST JOB', 'MESSAGE']);
      const smtp = groups.find(([name]) => name === 'smtp');
      expect(smtp?.slice(4)).toEqual([id, '554 Refused by policy']);
      expect((await cli.call('dead', 'ls', '--queue', 'none')).out.trimEnd().split('\n')).toHaveLength(1);
    });

    it('changes nothing without --yes', async () => {
      const id = await dead(queue, 'smtp');
      for (const [args, text] of [
        [['dead', 'rm', '--id', id], 'would delete 1 job\n'],
        [['dead', 'rm', '--queue', queue], `would delete 1 job:\n${id}  ${queue}  dead\n`],
        [
          ['dead', 'rm', '--queue', queue, '--yes', '--dry-run'],
          `would delete 1 job:\n${id}  ${queue}  dead\n`,
        ],
        [['dead', 'respawn', '--queue', queue], `would respawn 1 job:\n${id}  ${queue}  dead\n`],
        [['dead', 'move', 'other', '--queue', queue], `would move 1 job:\n${id}  ${queue}  dead\n`],
      ] as const) {
        const { code, out, err } = await cli.call(...args);
        expect({ code, out }).toEqual({ code: 0, out: text });
        expect(err).toBe('Nothing was changed. Run it again with --yes to do it.\n');
      }
      expect((await client.queues.get(queue)).counts.dead).toBe(1);
    });

    it('respawns, moves and deletes dead jobs with --yes', async () => {
      const [one, two, three] = [await dead(queue, 'a'), await dead(queue, 'b'), await dead(queue, 'c')];
      const respawn = await cli.call('dead', 'respawn', '--id', one, '--tries', '2', '--yes');
      expect(respawn).toEqual({ code: 0, out: 'respawned 1 job\n', err: '' });
      expect(await client.jobs.get(one)).toMatchObject({ state: 'ready', triesLeft: 2 });
      expect((await cli.call('dead', 'move', `${queue}-b`, '--group', 'b', '--yes')).out).toBe(
        'moved 1 job\n',
      );
      expect(await client.jobs.get(two)).toMatchObject({ queue: `${queue}-b` });
      const rm = ['dead', 'rm', '--queue', queue, '--group', 'c'];
      const shown: unknown = JSON.parse((await cli.call(...rm, '--yes', '--json')).out);
      expect(shown).toMatchObject({ action: 'delete', state: 'done', done: 1, filter: { state: ['dead'] } });
      expect((await cli.call('job', 'show', three)).code).toBe(1);
      expect(await cli.call(...rm, '--yes')).toMatchObject({ code: 0, out: 'Nothing was deleted.\n' });
    });

    it.each([
      ['respawn', 'respawned'],
      ['rm', 'deleted'],
    ])('names after dead %s --id how many of the ids have no dead job', async (verb, verbed) => {
      const id = await dead(queue, 'a');
      const { code, out, err } = await cli.call('dead', verb, '--id', id, '--id', 'nothing', '--yes');
      expect({ code, out }).toEqual({ code: 1, out: `${verbed} 1 job\n` });
      expect(err).toContain(`1 of 2 jobs was not ${verbed}: there is no such dead job`);
    });

    it('refuses to delete without filters unless --all is given, and refuses --all with filters', async () => {
      await dead(queue, 'x');
      for (const args of [
        ['dead', 'rm', '--yes'],
        ['dead', 'rm', '--all', '--queue', queue, '--yes'],
      ]) {
        const { code, err } = await cli.call(...args);
        expect([code, err]).toEqual([2, expect.stringContaining('choose the jobs by filters')]);
      }
      expect((await client.queues.get(queue)).counts.dead).toBe(1);
      expect((await cli.call('dead', 'rm', '--all', '--yes')).out).toMatch(/^deleted \d+ jobs?\n$/);
      expect((await cli.call('dead', 'rm', '--all', '--yes')).out).toBe('Nothing was deleted.\n');
    });
  });

  describe('pumphouse queue', () => {
    it('pauses and resumes jobs of a type', async () => {
      const pause = ['--type', 'sms', '--for', '10m', '--note', 'provider is down'];
      expect((await cli.call('queue', 'pause', queue, ...pause)).out).toBe(`paused ${queue}\n`);
      const { pauses } = await client.queues.get(queue);
      expect(pauses).toMatchObject([{ type: 'sms', note: 'provider is down' }]);
      expect((await cli.call('queue', 'resume', queue, '--type', 'sms')).out).toBe(`resumed ${queue}\n`);
      expect(await client.queues.get(queue)).toMatchObject({ pauses: [] });
      // Jobs without a type.
      expect((await cli.call('queue', 'pause', queue, '--type', '')).code).toBe(0);
      expect(await client.queues.get(queue)).toMatchObject({ pauses: [{ type: null }] });
      expect((await cli.call('queue', 'resume', queue, '--type', '')).code).toBe(0);
      expect(await client.queues.get(queue)).toMatchObject({ pauses: [] });
    });

    it('lists, shows, pauses, resumes and drains a queue', async () => {
      await client.publish({ queue, data: 1 });
      expect((await cli.call('queue', 'pause', queue)).out).toBe(`paused ${queue}\n`);
      const listed = cellsOf((await cli.call('queue', 'ls')).out);
      expect(listed[0]).toEqual([
        'QUEUE',
        'STATE',
        'READY',
        'SCHEDULED',
        'BLOCKED',
        'STUCK',
        'HELD',
        'LEASED',
        'DEAD',
        'WORKERS',
        'DONE',
      ]);
      expect(listed).toContainEqual([queue, 'paused', '1', '0', '0', '0', '0', '0', '0', '0', '0']);
      expect((await cli.call('queue', 'resume', queue)).out).toBe(`resumed ${queue}\n`);
      expect((await cli.call('queue', 'drain', queue, '--wait', '100ms')).out).toBe(
        `draining ${queue}: 1 job left\n`,
      );
      const none = await cli.call('queue', 'show', `${queue}-none`);
      expect(none).toMatchObject({
        code: 0,
        err: expect.stringMatching(/^There is no such queue yet: /) as string,
      });
      const show = (await cli.call('queue', 'show', queue)).out;
      expect(show).toMatch(/^draining_at +20/m);
      expect(show).toMatch(/^ready +1$/m);
    });

    it('lists the types of ready jobs in a queue that is leased by type', async () => {
      await client.publishMany([
        { queue, type: 'fax' },
        { queue, type: 'sms' },
      ]);
      expect((await cli.call('queue', 'show', queue)).out).not.toContain('LAST REQUEST');
      await client.driver.lease({
        queues: [queue],
        types: ['sms'],
        count: 1,
        waitMs: 0,
        ttrMs: 5_000,
        signal: new AbortController().signal,
      });
      const { out } = await cli.call('queue', 'show', queue);
      const times = String.raw`\d{4}-\S+Z`;
      expect(out).toMatch(new RegExp(`\nTYPE +READY +FIRST READY +LAST REQUEST\nfax +1 +${times} +-\n$`));
    });

    it('says why a job does not run, or why a queue gives no jobs', async () => {
      const { id } = await client.publish({ queue });
      await client.queues.pause(queue);
      const job = (await cli.call('why', id)).out;
      expect(job).toContain(`paused: The queue ${queue} is paused since `);
      expect(job).toContain(`to resume the queue:\n  pumphouse queue resume ${queue} --namespace `);
      expect(job).toContain('also no_worker: No worker asks');
      expect((await cli.call('why', queue)).out).toContain(`paused: The queue ${queue} is paused`);
      expect(JSON.parse((await cli.call('why', id, '--json')).out)).toMatchObject({ cause: 'paused' });
      expect((await cli.call('why', 'nothing')).err).toMatch(
        /^pumphouse: job_not_found: no job, recurring job or queue has the name nothing\. .* without retention_ms\n$/,
      );
      await client.recurring.put('nightly', { schedule: { everyMs: 3_600_000 }, job: { queue } });
      for (const flags of [[], ['--recurring']])
        expect((await cli.call('why', 'nightly', ...flags)).out).toContain(
          'scheduled: The next slot of the recurring job nightly is ',
        );
      await client.recurring.delete('nightly');
    });

    it('repeats in a remedy how the server was reached, but no secret', async () => {
      const { id } = await client.publish({ queue });
      await client.queues.pause(queue);
      const { PUMPHOUSE_URL: url = '', PUMPHOUSE_TOKEN: token = '' } = cli.env;
      const file = join(cli.configHome, "it's a token");
      writeFileSync(file, token);
      const lineOf = async (...flags: string[]): Promise<string | undefined> => {
        let text = '';
        const output = { out: (one: string) => void (text += one), err: () => undefined };
        await run(['why', id, '--namespace', app.namespace, ...flags], output);
        return /^ {2}(pumphouse queue resume .*)$/m.exec(text)?.[1];
      };
      const line = `pumphouse queue resume ${queue} --namespace ${app.namespace}`;
      expect(await lineOf('--url', url, '--token', token)).toBe(`${line} --url ${url}`);
      for (const user of ['user:secret', 'secret', ':secret'])
        expect(await lineOf('--url', url.replace('://', `://${user}@`), '--token', `@${file}`)).toBe(
          `${line} --token '@${file.replace("'", String.raw`'\''`)}'`,
        );
    });

    describe('the command of a remedy', () => {
      const publish = async (more = {}): Promise<string> => (await client.publish({ queue, ...more })).id;
      const lease = async () => {
        const { signal } = new AbortController();
        const request = { queues: [queue], count: 2, waitMs: 0, ttrMs: 60_000, worker: 'w', signal };
        const [job] = await client.driver.lease(request);
        return job!;
      };
      /** Makes a job, or what it names, that waits for the cause. @returns how it is explained */
      const STAGES: Readonly<Record<string, () => Promise<() => Promise<Explanation>>>> = {
        scheduled: async () => explained(await publish({ delayMs: 60_000 })),
        blocked: async () => explained(await publish({ dependsOn: [await publish({ delayMs: 60_000 })] })),
        'blocked by a dead job': async () => {
          const first = await dead(queue, 'smtp');
          const id = await publish({ dependsOn: [first] });
          // Its first remedy runs the dead job: then it is no remedy any more.
          return async () => {
            const found = await client.jobs.explain(id);
            const isFirst = found.remedies[0]?.about.startsWith('run the dead job') === true;
            return isFirst ? found : { ...found, cause: 'waits' };
          };
        },
        paused: async () => {
          await client.queues.pause(queue, { note: 'stocktaking' });
          return explained(await publish());
        },
        max_running: async () => {
          await client.queues.update(queue, { maxRunning: 1 });
          await publish();
          await lease();
          return explained(await publish());
        },
        rate: async () => {
          await client.queues.update(queue, { rate: { rate: 1, periodMs: 3_600_000 } });
          await publish();
          await lease();
          return explained(await publish());
        },
        concurrency_key: async () => {
          await client.queues.update(queue, { maxRunningPerKey: 1 });
          await publish({ concurrencyKey: 'k' });
          const id = await publish({ concurrencyKey: 'k' });
          await lease();
          return explained(id);
        },
        leased: async () => {
          const id = await publish();
          await lease();
          return explained(id);
        },
        dead: async () => explained(await dead(queue, 'smtp')),
        empty: () => Promise.resolve(() => client.queues.explain(queue)),
        draining: async () => {
          await publish();
          await client.queues.drain(queue);
          return () => client.queues.explain(queue);
        },
        'paused recurring job': async () => {
          await client.recurring.put(queue, { schedule: { everyMs: 3_600_000 }, job: { queue } });
          await client.recurring.pause(queue);
          return () => client.recurring.explain(queue);
        },
      };
      const explained = (id: string) => (): Promise<Explanation> => client.jobs.explain(id);

      it.each(Object.keys(STAGES))('removes the cause: %s', async (stage) => {
        const explain = await STAGES[stage]!();
        const found = await explain();
        const [cause = ''] = stage.split(' ');
        expect(found.cause).toBe(cause);
        const [name, ...parts] = found.remedies[0]!.command!.split(' ');
        const args = parts.map((part) => (part === "''" ? '' : part));
        expect([name, (await cli.call(...args)).code]).toEqual(['pumphouse', 0]);
        await waitFor(async () => (await explain()).cause !== cause);
      });
    });

    it('purges jobs in the given states with --yes', async () => {
      await client.publishMany([{ queue }, { queue }, { queue, delayMs: 60_000 }]);
      expect((await cli.call('queue', 'purge', queue)).err).toContain("required option '--state <states>'");
      expect((await cli.call('queue', 'purge', queue, '--state', 'redy')).err).toContain(
        'It must be all, or',
      );
      const dry = await cli.call('queue', 'purge', queue, '--state', 'ready');
      expect(dry.out).toMatch(/^ready +2\n(.*\n)*would delete 2 jobs\n$/);
      expect((await client.queues.get(queue)).length).toBe(3);
      expect((await cli.call('queue', 'purge', queue, '--state', 'ready', '--yes')).out).toContain(
        'deleted 2 jobs',
      );
      expect((await cli.call('queue', 'purge', queue, '--state', 'ready', '--yes')).out).toBe(
        'Nothing was deleted.\n',
      );
      const rest = await cli.call('queue', 'purge', queue, '--state', 'all', '--yes', '--json');
      expect(JSON.parse(rest.out)).toMatchObject({ queue, jobs: 1, dry_run: false });
      expect((await cli.call('queue', 'rm', queue)).out).toBe(`deleted ${queue}\n`);
      expect((await cli.call('queue', 'rm', queue)).err).toContain('queue_not_found');
    });

    it('sets settings by their API names, and names an unknown setting', async () => {
      const set = await cli.call(
        ...['queue', 'set', queue, 'max_running=20', 'expired=front', 'rate={"rate":10,"period_ms":1000}'],
        '--json',
      );
      expect(JSON.parse(set.out)).toMatchObject({
        ...{ max_running: 20, expired: 'front', rate: { rate: 10, period_ms: 1_000 } },
      });
      await cli.call('queue', 'set', queue, 'max_running=null');
      expect(await client.queues.get(queue)).toMatchObject({ maxRunning: null, expired: 'front' });
      const wrong = await cli.call('queue', 'set', queue, 'max_runing=1');
      expect([wrong.code, wrong.out]).toEqual([1, '']);
      expect(wrong.err).toMatch(/^pumphouse: invalid_argument: max_runing: unknown field.*\n$/);
      expect((await cli.call('queue', 'set', queue, 'max_running')).err).toContain('must be setting=value');
    });
  });

  it('exits with 2 if the server is unavailable and with 1 if the server refuses, and prints no token', async () => {
    const away = await cli.call('queue', 'ls', '--url', 'http://127.0.0.1:1', '--timeout', '0.3');
    expect([away.code, away.out]).toEqual([2, '']);
    expect(away.err).toMatch(/^pumphouse: (network|timeout): .*\nGive --url, set PUMPHOUSE_URL/);
    const refused = await cli.call('queue', 'ls', '--token', 'secret-token-1');
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('token_invalid')]);
    expect(refused.err.match(/Make one: pumphouse token create/g)).toHaveLength(1);
    for (const { out, err } of [away, refused]) {
      expect(out + err).not.toContain(app.token);
      expect(out + err).not.toContain('secret-token-1');
    }
  });

  it.each([
    ['job', 'publish'],
    ['job', 'publish', 'q', '1', '--delay', '5'],
    ['job', 'publish', 'q', '1', '--tries', '0'],
    ['job', 'publish', 'q', '1', '--lines'],
    ['job', 'ls', '--order', 'random'],
    ['job', 'ls', '--limit', '-1'],
    ['job', 'ls', '--state', 'redy'],
    ['queue', 'shwo', 'q'],
    ['target', 'set', 'x', '--header', 'nocolon'],
    ['queue', 'ls', '--url', 'ftp://x'],
  ])('exits with 2 on wrong usage: %s %s %s %s %s', async (...args) => {
    const { code, out, err } = await cli.call(...args);
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain('error:');
  });
});
