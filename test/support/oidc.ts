import { createSign, generateKeyPairSync, type JsonWebKey, type KeyObject, randomUUID } from 'node:crypto';
import { createServer, request as forward, type RequestListener, type Server } from 'node:http';
import { type Adapter, type AdapterPayload, Provider } from 'oidc-provider';
import { freePort } from './redis.js';

/** What the token endpoint of the provider answers. */
export interface TokenAnswer {
  id_token?: string;
  refresh_token?: string;
  [name: string]: unknown;
}

type Claims = Record<string, unknown>;

const SECRET = 'client-secret-of-pumphouse-0123456789';

/** Keys take long to make. */
let firstKey: Key | undefined;

/** A provider of OpenID Connect on loopback, which signs its user in without asking. */
export class TestProvider {
  readonly secret = SECRET;
  /** Claims of its user. */
  user: Claims & { sub: string } = { sub: 'u-1', groups: ['queue-admins'] };
  /** Changes answers of the token endpoint. */
  tamper: (answer: TokenAnswer) => void = () => undefined;
  /** Answers a code that was used as it did the first time. */
  isLenient = false;
  private last: object = {};
  /** Replaces the answer to requests for such a path by an error of the server. */
  failing: RegExp | undefined;
  /** Paths that were requested. */
  readonly requested: string[] = [];
  private key: Key;
  private provider: Provider;
  private server: Server | undefined;

  private constructor(
    private readonly port: number,
    private readonly redirectUrl: string,
  ) {
    this.key = firstKey ??= newKey();
    this.provider = this.newProvider();
  }

  /** @param redirectUrl of its client */
  static async start(redirectUrl: string): Promise<TestProvider> {
    const provider = new TestProvider(await freePort(), redirectUrl);
    await provider.up();
    return provider;
  }

  get issuer(): string {
    return `http://127.0.0.1:${String(this.port)}`;
  }

  /** Signs with another key from now on; the old one is gone. */
  rotateKeys(): void {
    this.key = newKey();
    this.provider = this.newProvider();
  }

  /** The code of a sign-in ends now. */
  async expireCode(code: string): Promise<void> {
    const found = await this.provider.AuthorizationCode.find(code);
    await found!.destroy();
  }

  /** Signs an ID token again, with other claims. @param key another one than that of the provider */
  sign(idToken: string, claims: Claims, key: KeyObject = this.key.own): string {
    const [head = '', body = ''] = idToken.split('.');
    const payload = { ...(JSON.parse(Buffer.from(body, 'base64url').toString()) as object), ...claims };
    const text = `${head}.${Buffer.from(JSON.stringify(payload)).toString('base64url')}`;
    return `${text}.${createSign('sha256').update(text).sign(key, 'base64url')}`;
  }

  async up(): Promise<void> {
    this.server = await listen(this.port, (request, response) => {
      const path = request.url?.split('?', 1)[0] ?? '';
      this.requested.push(path);
      if (this.failing?.test(path) === true) {
        response.writeHead(503).end();
      } else if (path.startsWith('/interaction/')) {
        void this.provider.interactionFinished(request, response, { login: { accountId: this.user.sub } });
      } else void this.provider.callback()(request, response);
    });
  }

  async down(): Promise<void> {
    await close(this.server);
    this.server = undefined;
  }

  private newProvider(): Provider {
    const { redirectUrl } = this;
    const provider = new Provider(this.issuer, {
      adapter: MapAdapter,
      clients: [
        {
          ...{ client_id: 'pumphouse', client_secret: SECRET, redirect_uris: [redirectUrl] },
          grant_types: ['authorization_code', 'refresh_token'],
        },
      ],
      jwks: { keys: [this.key.jwk] },
      cookies: { keys: ['cookie-key'] },
      claims: { openid: ['sub', 'groups'], email: ['email', 'email_verified'], profile: ['name'] },
      features: { devInteractions: { enabled: false } },
      interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
      findAccount: (_context, sub) => ({ accountId: sub, claims: () => ({ ...this.user }) }),
      issueRefreshToken: () => Promise.resolve(true),
      rotateRefreshToken: () => true,
      // No page asks the user to agree.
      loadExistingGrant: async ({ oidc: { client, session } }) => {
        const grant = new provider.Grant({
          clientId: client!.clientId,
          accountId: session!.accountId!,
        });
        grant.addOIDCScope('openid email profile offline_access');
        await grant.save();
        return grant;
      },
    });
    provider.use(async (context, next) => {
      await next();
      if (context.path !== '/token') return;
      if (context.status === 200) this.last = context.body as TokenAnswer;
      else if (this.isLenient) Object.assign(context, { status: 200, body: this.last });
      this.tamper(context.body as TokenAnswer);
    });
    return provider;
  }
}

/** What providers store, by model and id: a provider with other keys goes on with it. */
const STORED = new Map<string, AdapterPayload>();

class MapAdapter implements Adapter {
  constructor(private readonly model: string) {}

  upsert(id: string, payload: AdapterPayload): Promise<void> {
    STORED.set(this.model + id, payload);
    return Promise.resolve();
  }

  find(id: string): Promise<AdapterPayload | undefined> {
    return Promise.resolve(STORED.get(this.model + id));
  }

  findByUid(uid: string): Promise<AdapterPayload | undefined> {
    return Promise.resolve([...STORED.values()].find((one) => one.uid === uid));
  }

  findByUserCode(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  async consume(id: string): Promise<void> {
    Object.assign((await this.find(id)) ?? {}, { consumed: Math.floor(Date.now() / 1_000) });
  }

  destroy(id: string): Promise<void> {
    STORED.delete(this.model + id);
    return Promise.resolve();
  }

  revokeByGrantId(grantId: string): Promise<void> {
    for (const [key, payload] of STORED) if (payload.grantId === grantId) STORED.delete(key);
    return Promise.resolve();
  }
}

interface Key {
  readonly own: KeyObject;
  readonly jwk: JsonWebKey & { kty: 'RSA' };
}

function newKey(): Key {
  const { privateKey: own } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  const jwk = { ...own.export({ format: 'jwk' }), kid: randomUUID(), use: 'sig', alg: 'RS256', kty: 'RSA' };
  return { own, jwk: jwk as Key['jwk'] };
}

/** A key that no provider has. */
export function foreignKey(): KeyObject {
  return newKey().own;
}

/** A proxy in front of a server, which adds a path, as an ingress does. */
export class PathProxy {
  /** Port that the requests go to. */
  target = 0;

  private constructor(
    private readonly server: Server,
    /** Address with its path. */
    readonly url: string,
  ) {}

  static async start(path: string): Promise<PathProxy> {
    const port = await freePort();
    const server = await listen(port, (request, response) => {
      const { method, headers, url = '' } = request;
      const options = {
        host: '127.0.0.1',
        port: proxy.target,
        path: url.slice(path.length),
        method,
        headers,
      };
      const sent = forward(options, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
        answer.pipe(response);
      });
      request.pipe(sent);
    });
    const proxy = new PathProxy(server, `http://127.0.0.1:${String(port)}${path}`);
    return proxy;
  }

  stop(): Promise<void> {
    return close(this.server);
  }
}

/** An answer to a browser. */
export interface BrowserAnswer {
  readonly url: string;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** A browser without scripts: it keeps cookies by name, and follows redirects. */
export class CookieBrowser {
  readonly cookies = new Map<string, string>();

  /** One request, without following. */
  async get(url: string, headers: Readonly<Record<string, string>> = {}): Promise<BrowserAnswer> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { ...(cookie !== '' && { cookie }), ...headers },
    });
    for (const header of response.headers.getSetCookie()) this.keep(header);
    return { url, status: response.status, headers: response.headers, text: await response.text() };
  }

  /** Follows redirects until the next one would go to an address that begins so. @returns that address */
  async until(url: string, start: string): Promise<string> {
    for (let at = url, i = 0; i < 10; i++) {
      const { headers, status, text } = await this.get(at);
      const location = headers.get('location');
      if (location === null) throw new Error(`${at} answers ${String(status)}: ${text.slice(0, 500)}`);
      at = new URL(location, at).href;
      if (at.startsWith(start)) return at;
    }
    throw new Error(`ten redirects do not lead to ${start}`);
  }

  private keep(header: string): void {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(header) ?? [];
    if (value === '' || /max-age=0|expires=thu, 01 jan 1970/i.test(header)) this.cookies.delete(name);
    else this.cookies.set(name, value);
  }
}

function listen(port: number, listener: RequestListener): Promise<Server> {
  const server = createServer(listener);
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}

async function close(server: Server | undefined): Promise<void> {
  if (server === undefined) return;
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}
