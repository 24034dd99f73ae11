import { readdirSync, readFileSync } from 'node:fs';
import { BuiltServer } from '../support/built-server.js';
import { waitFor } from '../support/redis.js';

/** Several workers behind one port. */
describe('a server of two workers', () => {
  let server: BuiltServer;
  let headers: Record<string, string>;

  beforeAll(async () => {
    server = await BuiltServer.create({ PUMPHOUSE_SERVER__WORKERS: '2' });
    await server.start();
    headers = { 'X-Token': await server.token('cluster'), Connection: 'close' };
  });
  afterAll(() => server.remove());

  const url = (rest: string): string => `${server.url}/api/cluster/${rest}`;
  const workers = (): number[] => childrenOf(server.pid).filter((pid) => commandOf(pid).includes('main.js'));
  const accessLines = (): string[] =>
    server.output.split('\n').filter((line) => line.includes('"msg":"access"'));

  it('serves from both', async () => {
    expect(workers()).toHaveLength(2);
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => fetch(url('q'), { method: 'PUT', body: 'x', headers })),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(201));
    const jobs = (await (await fetch(url('q?count=100'), { headers })).json()) as unknown[];
    expect(jobs).toHaveLength(20);
  });

  it('tells the metrics of all, summed up', async () => {
    const text = await (await fetch(`${server.adminUrl}/metrics`)).text();
    const codes = text
      .split('\n')
      .filter((line) => line.startsWith('infra_lmstfy_http_http_codes{') && line.includes('code="201"'));
    expect(codes.map((line) => line.split(' ').at(-1))).toEqual(['20']);
    expect(text).toContain('stale_ack_total');
  });

  it('replaces a worker that was killed, and tells the new one what had been switched', async () => {
    expect(accessLines()).toHaveLength(0);
    await fetch(`${server.adminUrl}/accesslog?status=enable`, { method: 'POST' });
    const before = workers();
    process.kill(before[0]!, 'SIGKILL');
    await waitFor(() => workers().filter((pid) => !before.includes(pid)).length === 1, 5_000);
    await waitFor(async () => {
      await fetch(url('q/size'), { headers });
      return new Set(accessLines().map((line) => (JSON.parse(line) as { pid: number }).pid)).size === 2;
    }, 8_000);
    expect(accessLines()[0]).not.toContain(headers['X-Token']!);
    expect(await (await fetch(`${server.adminUrl}/accesslog`)).json()).toEqual({ status: 'enabled' });
  });

  it('knows at once in all workers that a token is gone', async () => {
    const token = await server.token('revoked');
    const path = `${server.url}/api/revoked/q/size`;
    const ask = async (): Promise<number> =>
      (await fetch(path, { headers: { 'X-Token': token, Connection: 'close' } })).status;
    for (let i = 0; i < 4; i++) expect(await ask()).toBe(200);
    await fetch(`${server.adminUrl}/token/revoked/${token}`, { method: 'DELETE' });
    await waitFor(async () => (await ask()) === 401, 900);
    for (let i = 0; i < 4; i++) expect(await ask()).toBe(401);
  });
});

function childrenOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return (
          readFileSync(`/proc/${String(pid)}/stat`, 'utf8')
            .split(') ')[1]
            ?.split(' ')[1] === String(parent)
        );
      } catch {
        return false;
      }
    });
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${String(pid)}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}
