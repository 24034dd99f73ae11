import type { IncomingMessage } from 'node:http';
import type { Config } from '../config/config.js';
import { QueueError } from '../domain/errors.js';
import type { RequestContext } from '../http/request/request-context.js';
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

/** Admission with a cache filled by the test, and connections that are plain objects. */
class Fixture {
  readonly known = new Map<string, KnownToken>();
  readonly counted: string[] = [];
  loaded: string[] = [];
  readonly admission = new Admission(
    { lmstfy: { public_sizes: false } } as unknown as Config,
    { get: (name: string) => (name === 'default' ? {} : undefined) } as unknown as PoolRegistry,
    Object.assign(Object.create(TokenCache.prototype) as TokenCache, {
      get: (digest: string) => {
        this.loaded.push(digest);
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
    this.known.set(digest, { record, secret: Buffer.from(secret), loadedAtMs: 0 });
  }

  /** Result of one request on a connection: `in`, or the code of its error. */
  async admit(socket: object, token: string, namespace = 'ns', rules: AccessRules = RULES): Promise<string> {
    const request = { socket, headers: { 'x-token': token } } as unknown as IncomingMessage;
    const context = {
      request,
      namespace,
      queue: 'q',
      route: '/api/:namespace/:queue',
      query: {},
      acquire: () => undefined,
    } as unknown as RequestContext;
    try {
      await this.admission.admit(context, rules);
    } catch (error) {
      return error instanceof QueueError ? error.code : String(error);
    }
    return context.admitted?.namespace === namespace ? 'in' : 'none';
  }
}

describe('admission', () => {
  let fixture: Fixture;
  let socket: object;
  beforeEach(() => {
    fixture = new Fixture();
    socket = {};
    fixture.knows(RECORD);
  });

  it('looks up the token in the cache for each request of an authenticated connection', async () => {
    for (let i = 0; i < 3; i++) expect(await fixture.admit(socket, 'right')).toBe('in');
    expect(fixture.loaded).toEqual(Array(3).fill(tokenDigest('default', 'ns', 'right')));
  });

  it('refuses a revoked token on an authenticated connection', async () => {
    await fixture.admit(socket, 'right');
    fixture.known.clear();

    expect(await fixture.admit(socket, 'right')).toBe('token_invalid');
    fixture.knows(RECORD);
    expect(await fixture.admit(socket, 'right')).toBe('in');
  });

  it('accepts the token of a connection only, not another token, namespace or pool on that connection', async () => {
    await fixture.admit(socket, 'right');

    expect(await fixture.admit(socket, 'wrong')).toBe('token_invalid');
    expect(await fixture.admit(socket, 'right', 'other')).toBe('token_invalid');
    expect(await fixture.admit(socket, 'nowhere:right')).toBe('pool_not_found');
    expect(await fixture.admit(socket, '')).toBe('token_missing');
    expect(await fixture.admit(socket, 'right')).toBe('in');
    expect(await fixture.admit({}, 'wrong')).toBe('token_invalid');
  });

  it('compares the token again when its record in the cache was replaced', async () => {
    await fixture.admit(socket, 'right');
    fixture.knows(RECORD, 'another secret under this digest');

    expect(await fixture.admit(socket, 'right')).toBe('token_invalid');
  });

  it('requires the permission admin for routes without access rules', async () => {
    fixture.knows({ ...RECORD, rights: { verbs: ['publish', 'consume'], queues: null } });
    expect(await fixture.admit(socket, 'right')).toBe('verb_missing');
    fixture.knows({ ...RECORD, rights: { verbs: ['admin'], queues: null } });
    expect(await fixture.admit(socket, 'right')).toBe('in');
  });

  it('refuses a token that is limited to some queues for calls on all queues', async () => {
    fixture.knows({ ...RECORD, rights: { verbs: ['admin'], queues: ['q'] } });
    expect(await fixture.admit(socket, 'right')).toBe('in');
    expect(await fixture.admit(socket, 'right', 'ns', { queues: 'none' })).toBe('queue_not_allowed');
  });

  it('uses changed rights of a token on an authenticated connection', async () => {
    expect(await fixture.admit(socket, 'right')).toBe('in');
    fixture.knows({ ...RECORD, rights: { verbs: [], queues: null } });
    expect(await fixture.admit(socket, 'right')).toBe('verb_missing');
    fixture.knows(RECORD);
    expect(await fixture.admit(socket, 'right')).toBe('in');
  });

  it('uses a changed rate limit of a token on an authenticated connection', async () => {
    await fixture.admit(socket, 'right');
    expect(fixture.counted).toEqual([]);
    fixture.knows({ ...RECORD, limit: { read: 0, write: 1, intervalS: 1 } });
    await fixture.admit(socket, 'default:right');
    await fixture.admit(socket, 'default:right');
    expect(fixture.counted).toEqual(['right', 'right']);
    fixture.knows(RECORD);
    await fixture.admit(socket, 'default:right');
    expect(fixture.counted).toHaveLength(2);
  });
});
