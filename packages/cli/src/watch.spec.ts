import { execFile, execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Pumphouse } from '@pumphouse/client';
import { TestApp } from '../../../test/support/app.js';
import { Cli, PROGRAM } from '../../../test/support/cli.js';
import { waitFor } from '../../../test/support/redis.js';
import { candidatesFor } from './commands/completion-command.js';
import { program } from './program.js';

const HOSTILE = '\u001b[2J\u202eowned';

describe('the command line on a server', () => {
  let app: TestApp;
  let cli: Cli;
  let client: Pumphouse;

  beforeAll(async () => {
    ({ app } = await TestApp.alone());
    const url = `http://127.0.0.1:${String(app.port)}`;
    const { namespace, token } = app;
    const { port } = app.server.admin.app.getHttpServer().address() as AddressInfo;
    cli = new Cli({
      ...{ PUMPHOUSE_URL: url, PUMPHOUSE_NAMESPACE: namespace, PUMPHOUSE_TOKEN: token },
      PUMPHOUSE_ADMIN_URL: `http://127.0.0.1:${String(port)}`,
    });
    client = new Pumphouse({ url, namespace, token });
  });
  afterAll(async () => {
    client.close();
    cli.remove();
    await app.stop();
  });

  describe('pumphouse tail', () => {
    it('prints the events that match its filters, and ends after --count events', async () => {
      const { ended, output } = cli.start(
        'tail',
        '--queue',
        'mail',
        '--event',
        'published,died',
        '--count',
        '2',
      );
      await waitFor(() => output().err.includes('Listening.'), 10_000);
      await client.publish({ queue: 'other', type: 'x' });
      const { id } = await client.publish({ queue: 'mail', type: 'x', tags: ['vip'] });
      const { signal } = new AbortController();
      const [job] = await client.driver.lease({
        queues: ['mail'],
        count: 1,
        waitMs: 0,
        ttrMs: 5_000,
        signal,
      });
      await client.driver.fail(job!, { group: 'smtp', message: HOSTILE });
      const { code, out } = await ended;
      expect(code).toBe(0);
      const lines = out.trimEnd().split('\n');
      expect(lines).toHaveLength(2);
      expect(lines[0]).toMatch(new RegExp(`^20\\S+ {2}published +mail +${id} +type=x tags=vip`));
      expect(lines[1]).toMatch(new RegExp(`^20\\S+ {2}died +mail +${id} .*group=smtp`));
      expect(lines[1]).toMatch(/ message=\S*owned\b/);
      expect(out.replaceAll('\n', '')).not.toMatch(/[^ -~]/);
    });

    it('prints JSON lines and resumes after an event, and a command whose reader closes the pipe exits with 0', async () => {
      const first = cli.start('tail', '--json', '--count', '1');
      await waitFor(async () => {
        await client.publish({ queue: 'mail', type: 'x' });
        return first.output().out !== '';
      });
      const { place } = JSON.parse((await first.ended).out) as { place: string };
      const { ended } = cli.start('tail', '--json', '--after', place, '--count', '1');
      await client.publish({ queue: 'mail', type: 'x' });
      expect(JSON.parse((await ended).out)).toMatchObject({ queue: 'mail' });
      const pipe = `set -o pipefail; "${process.execPath}" "${PROGRAM}" job ls --limit 1 | head -c 1; echo " $?"`;
      const { stdout: text } = await promisify(execFile)('/bin/bash', ['-c', pipe], { env: cli.environment });
      expect(text).toBe('I 0\n');
    });

    it('fails if the server is unavailable or the filter is invalid', async () => {
      const away = await cli.call('tail', '--url', 'http://127.0.0.1:1', '--timeout', '0.3');
      expect([away.code, away.out]).toEqual([2, '']);
      const wrong = await cli.call('tail', '--event', 'no-such-event');
      expect([wrong.code, wrong.err]).toEqual([1, expect.stringContaining('invalid_argument')]);
    });
  });

  describe('pumphouse stats', () => {
    it("prints the counts and today's statistics of a queue", async () => {
      await client.publish({ queue: 'counted', data: 1 });
      const { out } = await cli.call('stats', '--queue', 'counted');
      const [headings, row] = out
        .trimEnd()
        .split('\n')
        .map((line) => line.split(/\s{2,}/));
      expect(headings?.slice(0, 10)).toEqual([
        ...['QUEUE', 'STATE', 'READY', 'SCHEDULED', 'BLOCKED', 'STUCK', 'HELD', 'LEASED', 'DEAD', 'WORKERS'],
      ]);
      expect(row).toEqual([
        ...['counted', 'active', '1', '0', '0', '0', '0', '0', '0', '0'],
        ...['0', '0 ms', '0', '0 ms', '0', '0'],
      ]);
      const all = JSON.parse((await cli.call('stats', '--json')).out) as { queue: { queue: string } }[];
      expect(all.map(({ queue }) => queue.queue)).toContain('counted');
      expect((await cli.call('stats', '--day', 'yesterday')).code).toBe(1);
    });

    it('prints changes with --watch, without control characters if there is no terminal', async () => {
      const { child, ended, output } = cli.start(
        'stats',
        '--watch',
        '--every',
        '100ms',
        '--queue',
        'watched',
      );
      await waitFor(() => /watched +empty +0/.test(output().out), 10_000);
      await client.publish({ queue: 'watched' });
      await waitFor(() => /watched +active +1/.test(output().out), 10_000);
      child.kill('SIGINT');
      expect((await ended).out).not.toContain('\u001b');
    });
  });

  describe('pumphouse bench', () => {
    it('measures publish, lease and ack, and deletes its jobs', async () => {
      const load = ['bench', '--jobs', '300', '--clients', '4', '--batch', '7', '--size', '50'];
      const { code, out, err } = await cli.call(...load, '--json');
      expect([code, err]).toEqual([0, '']);
      const steps = JSON.parse(out) as {
        step: string;
        jobs: number;
        jobs_per_second: number;
        p99_ms: number;
      }[];
      expect(steps.map(({ step, jobs }) => [step, jobs])).toEqual([
        ['publish', 300],
        ['lease and ack', 300],
      ]);
      for (const one of steps) expect(Math.min(one.jobs_per_second, one.p99_ms)).toBeGreaterThan(0);
      const queues = await client.queues.list({ limit: 1_000 });
      // The list may still name a queue that has just been emptied.
      const left = queues.items.filter(({ queue, exists }) => exists && queue.startsWith('bench-'));
      expect(left).toEqual([]);
      expect((await cli.call('bench', '--batch', '65')).code).toBe(2);
    });

    it('fails and deletes its jobs if the token may not lease', async () => {
      const made = await app.admin('POST', `/token/${app.namespace}?description=x&verbs=publish,admin`);
      const { token } = made.json as { token: string };
      const { code, err } = await cli.call('bench', '--jobs', '20', '--token', token);
      expect([code, err]).toEqual([1, expect.stringContaining('verb_missing')]);
      const queues = await client.queues.list({ limit: 1_000 });
      // The list may still name a queue that has just been emptied.
      const left = queues.items.filter(({ queue, exists }) => exists && queue.startsWith('bench-'));
      expect(left).toEqual([]);
    });
  });

  describe('pumphouse completion', () => {
    const root = program({ out: () => undefined, err: () => undefined });

    it.each([
      [['que'], ['queue']],
      [
        ['queue', 'p'],
        ['pause', 'purge'],
      ],
      [
        ['--url', 'http://x', 'queue', 'p'],
        ['pause', 'purge'],
      ],
      [['queue', 'purge', 'mail', '--st'], ['--state']],
      [
        ['job', 'ls', '--order', ''],
        ['oldest', 'newest'],
      ],
      [
        ['completion', ''],
        ['bash', 'zsh', 'fish'],
      ],
      [['queue', 'show', ''], []],
      [['nonsense', ''], expect.arrayContaining(['queue', 'job'])],
      [['__'], []],
    ])('completes %j with %j', (args, expected) => {
      expect(candidatesFor(root, args)).toEqual(expected);
    });

    it('completes commands in bash', async () => {
      const script = join(cli.configHome, 'completion.bash');
      writeFileSync(script, (await cli.call('completion', 'bash')).out);
      const complete = (line: string): string =>
        execFileSync(
          '/bin/bash',
          [
            '-c',
            `pumphouse() { "${process.execPath}" "${PROGRAM}" "$@"; }; source "${script}"
             COMP_WORDS=(${line}); COMP_CWORD=$(( \${#COMP_WORDS[@]} - 1 )); _pumphouse; echo "\${COMPREPLY[*]}"`,
          ],
          { encoding: 'utf8' },
        );
      expect(complete('pumphouse dea')).toBe('dead\n');
      expect(complete("pumphouse queue 'p'")).toBe('pause purge\n');
      expect(complete('pumphouse dead rm --dry')).toBe('--dry-run\n');
    });

    it('has scripts for zsh and fish, and not for tcsh', async () => {
      expect((await cli.call('completion', 'zsh')).out).toMatch(/^#compdef pumphouse\n/);
      expect((await cli.call('completion', 'fish')).out).toMatch(/^complete -c pumphouse /);
      expect((await cli.call('completion', 'tcsh')).code).toBe(2);
    });
  });
});
