import { copyFileSync, readFileSync } from 'node:fs';
import { connect as connectPlain } from 'node:net';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { run } from '../../src/cli/program.js';
import { head, RawConnection, TestApp } from '../support/app.js';
import { type CertificateFiles, TestCa } from '../support/certificates.js';
import { waitFor } from '../support/redis.js';
import { BuiltTlsServer, tlsCall, type TlsCall } from '../support/tls-server.js';

let ca: TestCa;
let own: CertificateFiles;
let stranger: TestCa;

beforeAll(() => {
  ca = TestCa.create();
  own = ca.sign('server');
  stranger = TestCa.create();
});
afterAll(() => {
  ca.remove();
  stranger.remove();
});

const onBoth = (): Record<string, string> => ({
  PUMPHOUSE_SERVER__TLS_CERT: own.cert,
  PUMPHOUSE_SERVER__TLS_KEY: own.key,
  PUMPHOUSE_ADMIN__TLS_CERT: own.cert,
  PUMPHOUSE_ADMIN__TLS_KEY: own.key,
});

describe('TLS on both ports', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await TestApp.start({ ...onBoth(), PUMPHOUSE_SERVER__MAX_CONNECTIONS: '5' });
  });
  afterAll(() => app.stop());

  const url = (path: string): string => `https://127.0.0.1:${String(app.port)}/api/${app.namespace}/${path}`;
  const call = (path: string, options: TlsCall = {}) =>
    tlsCall(ca, url(path), { ...options, headers: { 'X-Token': app.token } });
  const open = async (): Promise<RawConnection> => {
    const socket: TLSSocket = connect({ port: app.port, host: '127.0.0.1', ca: ca.pem });
    await new Promise<void>((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject));
    return new RawConnection(socket);
  };

  it.each(['q', '%71'])('serves a queue: %s', async (q) => {
    expect(await call(q, { method: 'PUT', body: 'hello' })).toMatchObject({ status: 201 });
    const taken = await call(`${q}?timeout=5`);
    expect(taken).toMatchObject({ status: 200, from: 'server' });
    const { job_id: id } = JSON.parse(taken.text) as { job_id: string };
    expect(await call(`${q}/job/${id}`, { method: 'DELETE' })).toMatchObject({ status: 204 });
  });

  it('holds a long poll, and gives the job back when its client has gone', async () => {
    const connection = await open();
    connection.write(head('GET', `/api/${app.namespace}/gone?timeout=20`, { 'X-Token': app.token }));
    await waitFor(async () => (await metrics()).includes('pumphouse_waiters{pool="default"} 1'));
    connection.cut();
    await waitFor(async () => (await metrics()).includes('pumphouse_waiters{pool="default"} 0'));

    await call('gone?tries=1', { method: 'PUT', body: 'x' });
    expect(await call('gone')).toMatchObject({ status: 200 });
  });

  it('answers pipelined requests in order', async () => {
    const connection = await open();
    const auth = { 'X-Token': app.token };
    const put = head('PUT', `/api/${app.namespace}/pipe`, { ...auth, 'Content-Length': '1' });
    connection.write(`${put}x${head('GET', `/api/${app.namespace}/pipe/size`, auth)}`);
    expect(await connection.until('"size":')).toMatch(/^HTTP\/1.1 201 [^]*HTTP\/1.1 200 /);
    connection.cut();
  });

  it('says nothing in clear', async () => {
    const connection = new RawConnection(connectPlain(app.port, '127.0.0.1'));
    connection.write(head('GET', '/healthz'));

    expect(await connection.untilClosed()).not.toContain('HTTP/1.1 200');
    expect(await call('q')).toMatchObject({ status: 404 });
  });

  it('closes one connection too many', async () => {
    await waitFor(async () => (await metrics()).includes('pumphouse_http_connections 0'));
    const held = await Promise.all(Array.from({ length: 5 }, open));
    await expect(call('q')).rejects.toThrow(/socket|ECONNRESET/);

    for (const connection of held) connection.cut();
    await waitFor(async () => (await call('q')).status === 404);
  });

  const admin = (): string => `https://127.0.0.1:${String(app.server.admin.port)}`;
  async function metrics(): Promise<string> {
    return (await tlsCall(ca, `${admin()}/metrics`)).text;
  }
  async function cli(...args: string[]): Promise<{ code: number; out: string; err: string }> {
    let [out, err] = ['', ''];
    const code = await run([...args, '--admin', admin()], {
      out: (text) => (out += text),
      err: (text) => (err += text),
    });
    return { code, out, err };
  }

  it('is what the command line speaks, to whom it trusts', async () => {
    expect(await cli('pools', '--ca', ca.file)).toEqual({ code: 0, out: 'default\n', err: '' });

    const untrusted = await cli('pools');
    expect(untrusted).toMatchObject({ code: 2, out: '' });
    expect(untrusted.err).toMatch(/cannot reach the admin port .*certificate/);
    expect((await cli('pools', '--ca', stranger.file)).code).toBe(2);
    expect((await cli('pools', '--ca', '/none')).err).toContain('cannot read the CA');
  });
});

describe('a port that asks for certificates', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await TestApp.start({
      ...onBoth(),
      PUMPHOUSE_SERVER__TLS_CLIENT_CA: ca.file,
      PUMPHOUSE_ADMIN__TLS_CLIENT_CA: ca.file,
    });
  });
  afterAll(() => app.stop());

  const ports = (): string[] =>
    [app.port, app.server.admin.port].map((port) => `https://127.0.0.1:${String(port)}/healthz`);
  const of = ({ cert, key }: CertificateFiles): TlsCall => ({
    cert: readFileSync(cert, 'utf8'),
    key: readFileSync(key, 'utf8'),
  });

  it('lets in who has one of its CA, and nobody else', async () => {
    const [good, bad] = [of(ca.sign('client')), of(stranger.sign('intruder'))];
    for (const url of ports()) {
      expect(await tlsCall(ca, url, good)).toMatchObject({ status: 200 });
      await expect(tlsCall(ca, url)).rejects.toThrow();
      await expect(tlsCall(ca, url, bad)).rejects.toThrow();
    }
  });

  it('lets the command line in with one', async () => {
    const { cert, key } = ca.sign('operator');
    const at = ['--admin', `https://127.0.0.1:${String(app.server.admin.port)}`, '--ca', ca.file];
    const silent = { out: () => undefined, err: () => undefined };

    expect(await run(['pools', ...at, '--cert', cert, '--key', key], silent)).toBe(0);
    expect(await run(['pools', ...at], silent)).toBe(2);
  });
});

describe('a server of two workers with TLS', () => {
  it('says so, serves from both, takes a new certificate while it runs, and stops in order', async () => {
    const live = { cert: join(ca.dir, 'live.crt'), key: join(ca.dir, 'live.key') };
    const put = (name: string): void => {
      copyFileSync(join(ca.dir, `${name}.crt`), live.cert);
      copyFileSync(join(ca.dir, `${name}.key`), live.key);
    };
    ca.sign('renewed');
    put('server');
    const server = await BuiltTlsServer.start(ca, {
      PUMPHOUSE_SERVER__WORKERS: '2',
      PUMPHOUSE_SERVER__TLS_CERT: live.cert,
      PUMPHOUSE_SERVER__TLS_KEY: live.key,
      PUMPHOUSE_ADMIN__TLS_CERT: live.cert,
      PUMPHOUSE_ADMIN__TLS_KEY: live.key,
    });
    try {
      const lines = `API    ${server.url}\n  admin  ${server.adminUrl}\n`;
      await waitFor(() => server.output.includes(lines));
      const shown = async (): Promise<string> => {
        const urls = [server.url, server.url, server.url, server.url, server.adminUrl];
        const answers = await Promise.all(urls.map((url) => tlsCall(ca, `${url}/healthz`)));
        return [...new Set(answers.map(({ from }) => from))].join();
      };
      expect(await shown()).toBe('server');
      put('renewed');
      await waitFor(async () => (await shown()) === 'renewed', 20_000);
      // An idle connection that has shaken hands holds nothing up.
      const idle = connect({ port: Number(new URL(server.url).port), host: '127.0.0.1', ca: ca.pem });
      await new Promise((resolve) => idle.once('secureConnect', resolve));
      idle.on('error', () => undefined);
      const beganMs = performance.now();
      expect(await server.stop()).toBe(0);
      expect(performance.now() - beganMs).toBeLessThan(5_000);
      expect(server.output).not.toContain('cut connections');
    } finally {
      await server.stop();
    }
  }, 120_000);
});
