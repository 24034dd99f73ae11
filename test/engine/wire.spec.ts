import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Redis } from 'ioredis';
import { type Arg, encodeCommand, EncodedCommand } from '../../src/redis/scripts/script.js';
import { testRedisUrl } from '../support/redis.js';

/** Around the lengths at which the encoder copies in another way, and at which a length has one digit more. */
const LENGTHS = [0, 1, 9, 10, 31, 32, 33, 99, 100, 999, 1_000, 65_535, 65_536, 70_000];

/** Each byte in turn, so that one that is lost or moved shows. */
function bytesOf(length: number): Buffer {
  return Buffer.from(Array.from({ length }, (_, i) => (i * 7 + (i >> 8)) & 0xff));
}

function plain(arg: Arg): Buffer {
  return Buffer.isBuffer(arg) ? arg : Buffer.from(String(arg));
}

describe('a Redis that gets commands as bytes', () => {
  let socket: Socket;
  let redis: Redis;
  beforeAll(async () => {
    const { hostname, port } = new URL(testRedisUrl());
    socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    redis = new Redis(testRedisUrl(), { protocol: 2 });
  });
  afterAll(() => {
    socket.destroy();
    redis.disconnect();
  });

  /** What Redis answers, as it comes: `length` bytes of it. */
  async function answer(command: Buffer, length: number): Promise<Buffer> {
    socket.write(command);
    let got = Buffer.alloc(0);
    while (got.length < length) {
      const [chunk] = (await once(socket, 'data')) as [Buffer];
      got = Buffer.concat([got, chunk]);
    }
    return got;
  }

  it.each(LENGTHS)('reads %i bytes unchanged', async (length) => {
    const body = bytesOf(length);
    const expected = Buffer.concat([Buffer.from(`$${length}\r\n`), body, Buffer.from('\r\n')]);

    expect((await answer(encodeCommand(['ECHO', body]), expected.length)).equals(expected)).toBe(true);
  });

  it('passes values to a script unchanged through the driver', async () => {
    const args: Arg[] = ['', 'rød', 0, 1_795_000_000_000, Buffer.from([0, 255, 13, 10]), bytesOf(70_000)];
    const script = 'return { KEYS[1], unpack(ARGV) }';
    const command = new EncodedCommand(encodeCommand(['EVAL', script, 1, 'key', ...args]), 'key');
    const reply = (await redis.sendCommand(command)) as Buffer[];

    expect(reply).toEqual([Buffer.from('key'), ...args.map(plain)]);
  });

  it('answers many concurrent commands in order', async () => {
    const bodies = Array.from({ length: 500 }, (_, i) => bytesOf(i * 13));
    const replies = await Promise.all(
      bodies.map((body) =>
        redis.sendCommand(new EncodedCommand(encodeCommand(['EVAL', 'return ARGV[1]', 1, 'k', body]), 'k')),
      ),
    );

    expect(replies).toEqual(bodies);
  });

  it('reports an error of a refused command, and goes on', async () => {
    const wrong = new EncodedCommand(encodeCommand(['EVALSHA', 'f'.repeat(40), 1, 'k']), 'k');

    await expect(redis.sendCommand(wrong)).rejects.toThrow(/^NOSCRIPT/);
    expect(await redis.ping()).toBe('PONG');
  });
});
