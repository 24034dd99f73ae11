import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { request as httpsRequest } from 'node:https';
import { fileURLToPath } from 'node:url';
import type { TestCa } from './certificates.js';
import { freePort } from '../../scripts/setup/free-port.mjs';
import { endWithUs } from './redis-process.mjs';
import { testRedisUrl, waitFor } from './redis.js';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

/** What came back over TLS, and from whom. */
export interface TlsAnswer {
  readonly status: number;
  readonly text: string;
  /** The subject of the server's certificate. */
  readonly from: string;
}

export interface TlsCall {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** A client's certificate. */
  readonly cert?: string;
  readonly key?: string;
}

/** One HTTPS call on its own connection, by a client that trusts the test's CA. */
export function tlsCall(ca: TestCa, url: string, call: TlsCall = {}): Promise<TlsAnswer> {
  const { method = 'GET', headers = {}, body, cert, key } = call;
  const own = cert === undefined ? {} : { cert, key };
  return new Promise((resolve, reject) => {
    const request = httpsRequest(url, { method, headers, ca: ca.pem, agent: false, ...own }, (response) => {
      let text = '';
      const socket = response.socket as unknown as { getPeerCertificate(): { subject: { CN: string } } };
      const from = socket.getPeerCertificate().subject.CN;
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.once('end', () => resolve({ status: response.statusCode ?? 0, text, from }));
      response.once('error', reject);
    });
    request.once('error', reject);
    request.end(body);
  });
}

/** The built server over the tests' Redis, with TLS on both ports. */
export class BuiltTlsServer {
  output = '';

  private constructor(
    private readonly child: ChildProcess,
    private readonly watch: ChildProcess,
    readonly url: string,
    readonly adminUrl: string,
  ) {}

  /** Starts it and waits until it serves. @param env settings in the form `PUMPHOUSE_…` */
  static async start(ca: TestCa, env: Readonly<Record<string, string>>): Promise<BuiltTlsServer> {
    const [port, adminPort] = [await freePort(), await freePort()];
    const settings = {
      PUMPHOUSE_SERVER__HOST: '127.0.0.1',
      PUMPHOUSE_SERVER__PORT: String(port),
      PUMPHOUSE_SERVER__READY_LAG_MS: '0',
      PUMPHOUSE_ADMIN__PORT: String(adminPort),
      PUMPHOUSE_POOLS__DEFAULT__URL: testRedisUrl(),
    };
    const child = spawn(process.execPath, [MAIN], {
      env: { ...process.env, ...settings, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const server = new BuiltTlsServer(
      child,
      endWithUs(child.pid ?? 0),
      `https://127.0.0.1:${String(port)}`,
      `https://127.0.0.1:${String(adminPort)}`,
    );
    const append = (text: Buffer): void => void (server.output += text.toString());
    child.stdout.on('data', append);
    child.stderr.on('data', append);
    await waitFor(async () => {
      if (child.exitCode !== null) return true;
      const answers = [server.url, server.adminUrl].map((url) => tlsCall(ca, `${url}/readyz`));
      return (await Promise.all(answers)).every(({ status }) => status === 200);
    });
    if (child.exitCode !== null) throw new Error(`the server has ended:\n${server.output}`);
    return server;
  }

  /** Ends it by SIGTERM. @returns its exit code */
  async stop(): Promise<number | null> {
    this.watch.kill('SIGKILL');
    if (this.child.exitCode !== null) return this.child.exitCode;
    const exit = once(this.child, 'exit') as Promise<[number | null]>;
    this.child.kill('SIGTERM');
    return (await exit)[0];
  }
}
