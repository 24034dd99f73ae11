import { mkdtempSync, renameSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BuiltServer } from './support/built-server.js';
import { codeIn, hasProgram, run } from './support/packed.js';
import { randomNamespace, startRedis } from './support/redis.js';

const LIMIT_MS = 600_000;
const isPossible = ['redis-cli', 'redis-server', 'tar'].every(hasProgram);
const [embedded = '', external = '', restore = '', pack = '', unpack = ''] = codeIn(
  'docs/how-to/backup.md',
  'sh',
);

/** The commands of the page, in the folder of a server that the specs start and stop. */
(isPossible ? describe : describe.skip)('docs/how-to/backup.md', () => {
  const namespace = randomNamespace('backup');
  let backups: string;
  let server: BuiltServer;
  let token: string;
  beforeEach(async () => {
    backups = mkdtempSync(join(tmpdir(), 'pumphouse-backup-'));
    server = await BuiltServer.create();
    await server.start();
    token = await server.token(namespace);
    for (const id of ['first', 'second']) await publish(id);
  });
  afterEach(async () => {
    await server.remove();
    rmSync(backups, { recursive: true, force: true });
  });

  const call = (path: string, body?: unknown): Promise<Response> =>
    fetch(`${server.url}/v1/${namespace}/${path}`, {
      headers: { 'X-Token': token },
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    });
  const publish = async (id: string): Promise<void> =>
    expect((await call('jobs', { queue: 'mail', id })).status).toBe(201);
  const statesOf = async (...ids: string[]): Promise<unknown[]> =>
    Promise.all(
      ids.map(async (id) => {
        const answer = await call(`jobs/${id}`);
        return answer.ok ? ((await answer.json()) as { state: string }).state : answer.status;
      }),
    );
  const play = (commands: string): Promise<string> =>
    run('sh', ['-ec', commands.replaceAll('/backup/', `${backups}/`)], server.dir);

  it(
    'the backup page restores a snapshot into the embedded Redis',
    async () => {
      await play(embedded);
      await publish('later');
      expect(await server.end('SIGTERM')).toBe(0);
      expect(restore).toMatch(/\nnpm start\n$/);
      await play(restore.replace('npm start', ''));
      await server.start();

      expect(await statesOf('first', 'second', 'later')).toEqual(['ready', 'ready', 404]);
    },
    LIMIT_MS,
  );

  it(
    'the backup page writes a snapshot of an external Redis',
    async () => {
      const redis = await startRedis();
      await play(external.replace('-h 10.0.0.5 -p 6379', `-h 127.0.0.1 -p ${String(redis.port)}`));
      await redis.stop();
      expect(statSync(join(backups, 'pumphouse.rdb')).size).toBeGreaterThan(0);
    },
    LIMIT_MS,
  );

  it(
    'the backup page restores the folder of a stopped server',
    async () => {
      expect(await server.end('SIGTERM')).toBe(0);
      await play(pack);
      renameSync(join(server.dir, 'data'), join(server.dir, 'data.before'));
      await play(unpack);
      await server.start();

      expect(await statesOf('first', 'second')).toEqual(['ready', 'ready']);
    },
    LIMIT_MS,
  );
});
