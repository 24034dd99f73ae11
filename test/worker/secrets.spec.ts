import { jest } from '@jest/globals';
import { once } from 'node:events';
import { connect as connectSocket } from 'node:net';
import { inspect } from 'node:util';
import { freePort } from '../../scripts/setup/free-port.mjs';
import { connect } from '../../packages/engine/src/index.js';
import { randomNamespace, type RedisProcess, startRedis } from '../support/redis.js';

const PASSWORD = 'hidden-word';
/** Behind an @ that is not written as %40: what follows would be the host. */
const PART = 'part-of-it';

describe('a failed connection', () => {
  let redis: RedisProcess;
  beforeAll(async () => {
    redis = await startRedis();
    const socket = connectSocket(redis.port, '127.0.0.1');
    socket.end('CONFIG SET requirepass another-secret\r\n');
    await once(socket.resume(), 'close');
  });
  afterAll(() => redis.stop());
  afterEach(() => jest.restoreAllMocks());

  /** All that a program can see of an attempt: the error, the log, the console and the output. */
  async function seenOf(url: string): Promise<{ readonly message: string; readonly text: string }> {
    const seen: unknown[] = [];
    const keep = (...values: unknown[]): void => void seen.push(values);
    for (const name of ['log', 'info', 'warn', 'error', 'debug', 'trace'] as const)
      jest.spyOn(console, name).mockImplementation(keep);
    for (const stream of [process.stdout, process.stderr]) {
      jest.spyOn(stream, 'write').mockImplementation((text) => {
        keep(String(text));
        return true;
      });
    }
    const failed = await connect({
      redis: url,
      namespace: randomNamespace(),
      logger: { warn: keep, error: keep },
    }).then(
      () => new Error('connected'),
      (error: unknown) => error,
    );
    jest.restoreAllMocks();
    const text = inspect([failed, seen], { depth: null, showHidden: true, getters: true });
    return { message: String(failed), text: `${text} ${JSON.stringify([failed, seen])}` };
  }

  it.each<[string, (password: string) => Promise<string>, RegExp]>([
    [
      'to a port on which nothing listens',
      async (password) => `redis://user:${password}@127.0.0.1:${String(await freePort())}`,
      /cannot be used: .*ECONNREFUSED/,
    ],
    [
      'to a Redis that refuses the password',
      (password) => Promise.resolve(`redis://:${password}@127.0.0.1:${String(redis.port)}/0`),
      /cannot be used: AUTH was refused: WRONGPASS/,
    ],
    ...[
      'redis://:PASSWORD@127.0.0.1:no-port',
      `redis://:PASSWORD@${PART}/x@127.0.0.1`,
      'redis://127.0.0.1:6379/?password=PASSWORD',
      'http://:PASSWORD@127.0.0.1',
      ':PASSWORD@127.0.0.1:6379',
    ].map((url): [string, (password: string) => Promise<string>, RegExp] => [
      `by ${url}`,
      (password) => Promise.resolve(url.replace('PASSWORD', password)),
      /^TypeError: the Redis URL of pool default must be redis:/,
    ]),
  ])('shows no password: %s', async (_where, urlOf, expected) => {
    const { message, text } = await seenOf(await urlOf(PASSWORD));
    expect(message).toMatch(expected);
    for (const secret of [PASSWORD, PART]) expect(text).not.toContain(secret);
  });
});
