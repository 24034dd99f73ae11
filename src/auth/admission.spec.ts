import type { IncomingMessage } from 'node:http';
import type { Config } from '../config/config.js';
import { QueueError } from '../domain/errors.js';
import type { Exchange } from '../http/exchange.js';
import type { PoolRegistry } from '../redis/redis.module.js';
import type { AccessRules } from './access.js';
import { Admission } from './admission.js';
import { tokenDigest } from './credentials.js';
import type { Throttle } from './throttle.js';
import { type KnownToken, TokenCache } from './token-cache.js';
import type { TokenRecord } from './token-store.js';

const RECORD: TokenRecord = {
  pool: 'default',
  namespace: 'ns',
  token: 'right',
  description: '',
  limit: null,
  rights: null,
};
const RULES = { queues: 'one', throttle: 'write' } as const;

/** Admission over a cache that knows what it is told, and connections that are no more than an object. */
class Gate {
  readonly known = new Map<string, KnownToken>();
  readonly counted: string[] = [];
  asked: string[] = [];
  readonly admission = new Admission(
    { lmstfy: { public_sizes: false } } as unknown as Config,
    { get: (name: string) => (name === 'default' ? {} : undefined) } as unknown as PoolRegistry,
    Object.assign(Object.create(TokenCache.prototype) as TokenCache, {
      get: (digest: string) => {
        this.asked.push(digest);
        return this.known.get(digest) ?? Promise.resolve(null);
      },
    }),
    {
      count: ({ text }: { text: string }) => {
        this.counted.push(text);
        return Promise.resolve(null);
      },
    } as unknown as Throttle,
  );

  knows(record: TokenRecord, secret = record.token): void {
    const digest = tokenDigest(record.pool, record.namespace, record.token);
    this.known.set(digest, { record, secret: Buffer.from(secret), askedAtMs: 0 });
  }

  /** What one request of a connection comes to: `in`, or the code of its refusal. */
  async ask(socket: object, token: string, namespace = 'ns', rules: AccessRules = RULES): Promise<string> {
    const request = { socket, headers: { 'x-token': token } } as unknown as IncomingMessage;
    const exchange = { request, namespace, queue: 'q', query: {}, context: {} } as unknown as Exchange;
    try {
      await this.admission.admit(exchange, rules);
    } catch (error) {
      return error instanceof QueueError ? error.code : String(error);
    }
    return exchange.admitted?.namespace === namespace ? 'in' : 'nobody';
  }
}

describe('admission', () => {
  let gate: Gate;
  let socket: object;
  beforeEach(() => {
    gate = new Gate();
    socket = {};
    gate.knows(RECORD);
  });

  it('asks the cache about each request of a connection that has proved itself', async () => {
    for (let i = 0; i < 3; i++) expect(await gate.ask(socket, 'right')).toBe('in');
    expect(gate.asked).toEqual(Array(3).fill(tokenDigest('default', 'ns', 'right')));
  });

  it('refuses a token that was revoked, on a connection that has proved it', async () => {
    await gate.ask(socket, 'right');
    gate.known.clear();

    expect(await gate.ask(socket, 'right')).toBe('token_invalid');
    gate.knows(RECORD);
    expect(await gate.ask(socket, 'right')).toBe('in');
  });

  it('takes no other token, no other namespace and no other connection for what was proved', async () => {
    await gate.ask(socket, 'right');

    expect(await gate.ask(socket, 'wrong')).toBe('token_invalid');
    expect(await gate.ask(socket, 'right', 'other')).toBe('token_invalid');
    expect(await gate.ask(socket, 'nowhere:right')).toBe('pool_not_found');
    expect(await gate.ask(socket, '')).toBe('token_missing');
    expect(await gate.ask(socket, 'right')).toBe('in');
    expect(await gate.ask({}, 'wrong')).toBe('token_invalid');
  });

  it('compares again when the cache has another record', async () => {
    await gate.ask(socket, 'right');
    gate.knows(RECORD, 'another secret under this digest');

    expect(await gate.ask(socket, 'right')).toBe('token_invalid');
  });

  it('takes a route of which nothing is said for one that needs the verb admin', async () => {
    gate.knows({ ...RECORD, rights: { verbs: ['publish', 'consume'], queues: null } });
    expect(await gate.ask(socket, 'right')).toBe('verb_missing');
    gate.knows({ ...RECORD, rights: { verbs: ['admin'], queues: null } });
    expect(await gate.ask(socket, 'right')).toBe('in');
  });

  it('lets a token for some queues in nowhere where a call is for all of them', async () => {
    gate.knows({ ...RECORD, rights: { verbs: ['admin'], queues: ['q'] } });
    expect(await gate.ask(socket, 'right')).toBe('in');
    expect(await gate.ask(socket, 'right', 'ns', { queues: 'none' })).toBe('queue_not_allowed');
  });

  it('goes by the rights that the token has now, on a connection that has proved it', async () => {
    expect(await gate.ask(socket, 'right')).toBe('in');
    gate.knows({ ...RECORD, rights: { verbs: [], queues: null } });
    expect(await gate.ask(socket, 'right')).toBe('verb_missing');
    gate.knows(RECORD);
    expect(await gate.ask(socket, 'right')).toBe('in');
  });

  it('counts by the limit that the token has now', async () => {
    await gate.ask(socket, 'right');
    expect(gate.counted).toEqual([]);
    gate.knows({ ...RECORD, limit: { read: 0, write: 1, intervalS: 1 } });
    await gate.ask(socket, 'default:right');
    await gate.ask(socket, 'default:right');
    expect(gate.counted).toEqual(['right', 'right']);
    gate.knows(RECORD);
    await gate.ask(socket, 'default:right');
    expect(gate.counted).toHaveLength(2);
  });
});
