import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:https';
import {
  type AddressInfo,
  connect as connectPlain,
  createServer as createProxy,
  type Socket,
} from 'node:net';
import { join, relative } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { run } from '../../packages/cli/src/program.js';
import { TlsListenerConfig } from '../../src/config/config.js';
import { Connections, portOf } from '../../src/app/server-lifecycle.js';
import { TlsFiles } from '../../src/app/listener/tls-files.js';
import { head, RawConnection, TestApp } from '../support/app.js';
import { type CertificateFiles, TestCa } from '../support/certificates.js';
import { waitFor } from '../support/redis.js';
import { BuiltTlsServer, tlsCall, type TlsCall } from '../support/tls-server.js';

interface CliAnswer {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function cliCall(args: readonly string[]): Promise<CliAnswer> {
  let [out, err] = ['', ''];
  const code = await run(args, { out: (text) => (out += text), err: (text) => (err += text) });
  return { code, out, err };
}

describe('TLS', () => {
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

    const url = (path: string): string =>
      `https://127.0.0.1:${String(app.port)}/api/${app.namespace}/${path}`;
    const call = (path: string, options: TlsCall = {}) =>
      tlsCall(ca, url(path), { ...options, headers: { 'X-Token': app.token } });
    const open = async (): Promise<RawConnection> => {
      const socket: TLSSocket = connect({ port: app.port, host: '127.0.0.1', ca: ca.pem });
      await new Promise<void>((resolve, reject) =>
        socket.once('secureConnect', resolve).once('error', reject),
      );
      return new RawConnection(socket);
    };

    it.each(['q', '%71'])('publishes, consumes and acknowledges: %s', async (q) => {
      expect(await call(q, { method: 'PUT', body: 'hello' })).toMatchObject({ status: 201 });
      const taken = await call(`${q}?timeout=5`);
      expect(taken).toMatchObject({ status: 200, from: 'server' });
      const { job_id: id } = JSON.parse(taken.text) as { job_id: string };
      expect(await call(`${q}/job/${id}`, { method: 'DELETE' })).toMatchObject({ status: 204 });
    });

    it('ends a long poll when its client disconnects, and the next job is free', async () => {
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

    it('answers no request that is not encrypted', async () => {
      const connection = new RawConnection(connectPlain(app.port, '127.0.0.1'));
      connection.write(head('GET', '/healthz'));

      expect(await connection.untilClosed()).not.toContain('HTTP/1.1 200');
      expect(await call('q')).toMatchObject({ status: 404 });
    });

    it('closes a connection beyond max_connections', async () => {
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
  });

  describe('the command line over TLS', () => {
    let app: TestApp;
    let configHome: string;
    beforeAll(async () => {
      app = await TestApp.start(onBoth());
    });
    afterAll(() => app.stop());
    beforeEach(() => (configHome = mkdtempSync(join(ca.dir, 'config-'))));

    const admin = (): string => `https://127.0.0.1:${String(app.server.admin.port)}`;
    const addresses = (): string[] => [
      ...['--admin', admin(), '--url', `https://127.0.0.1:${String(app.port)}`],
      ...['--namespace', app.namespace, '--token', app.token],
    ];
    const cli = (...args: string[]): Promise<CliAnswer> => cliCall(['--config-home', configHome, ...args]);

    it.each([
      ['admin port', ['pools'], 'default\n'],
      [
        'API',
        ['queue', 'ls'],
        'QUEUE  STATE  READY  SCHEDULED  BLOCKED  STUCK  HELD  LEASED  DEAD  WORKERS  DONE\n',
      ],
    ])(
      'trusts the CA of --ca or PUMPHOUSE_CA, and no other, in calls of the %s',
      async (_port, command, out) => {
        const call = (...more: string[]): Promise<CliAnswer> => cli(...command, ...addresses(), ...more);
        expect(await call('--ca', ca.file)).toEqual({ code: 0, out, err: '' });
        process.env['PUMPHOUSE_CA'] = ca.file;
        const byEnvironment = await call();
        delete process.env['PUMPHOUSE_CA'];
        expect(byEnvironment).toEqual({ code: 0, out, err: '' });

        for (const untrusted of [await call(), await call('--ca', stranger.file)]) {
          expect(untrusted).toMatchObject({ code: 2, out: '' });
          expect(untrusted.err).toContain('Give the CA of its certificate with --ca FILE.');
        }
        const option = 'pumphouse: --ca (or PUMPHOUSE_CA, or `pumphouse login`): ';
        expect((await call('--ca', '/none')).err).toBe(
          `${option}/none cannot be read: there is no such file\n`,
        );
        expect((await call('--ca', own.key)).err).toBe(`${option}${own.key} holds no certificate (PEM)\n`);
      },
    );

    it('prints the events of a server with the given CA', async () => {
      const events = cli('tail', ...addresses(), '--count', '1', '--json', '--ca', ca.file);
      const isOpen = (): Promise<boolean> =>
        tlsCall(ca, `${admin()}/metrics`).then(({ text }) => text.includes('pumphouse_event_streams 1'));
      await waitFor(isOpen);
      const url = `https://127.0.0.1:${String(app.port)}/api/${app.namespace}/events`;
      await tlsCall(ca, url, { method: 'PUT', body: 'x', headers: { 'X-Token': app.token } });
      expect(await events).toMatchObject({ code: 0, out: expect.stringContaining('"events"') as string });
    });

    it('stores the CA at login, and uses it for the same address only', async () => {
      const file = relative(process.cwd(), ca.file);
      expect((await cli('login', ...addresses())).code).toBe(2);
      expect(await cli('login', ...addresses(), '--ca', file)).toMatchObject({ code: 0, err: '' });
      const stored = readFileSync(join(configHome, 'pumphouse', 'context.json'), 'utf8');
      expect(JSON.parse(stored)).toMatchObject({ ca: ca.file });
      expect((await cli('pools')).out).toBe('default\n');
      expect((await cli('queue', 'ls')).code).toBe(0);
      // Any other address will do; a machine without a resolver has not even localhost.
      const elsewhere = await cli('pools', '--admin', `https://127.0.0.1:${String(app.port)}`);
      expect(elsewhere.err).toContain('Give the CA of its certificate');
    });
  });

  describe('a port that requires certificates', () => {
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

    it('accepts only clients with a certificate of its CA', async () => {
      const [good, bad] = [of(ca.sign('client')), of(stranger.sign('intruder'))];
      for (const url of ports()) {
        expect(await tlsCall(ca, url, good)).toMatchObject({ status: 200 });
        await expect(tlsCall(ca, url)).rejects.toThrow();
        await expect(tlsCall(ca, url, bad)).rejects.toThrow();
      }
    });

    it.each([[['pools']], [['queue', 'ls']]])(
      'accepts the command line with a certificate: %s',
      async (command) => {
        const { cert, key } = ca.sign('operator');
        const at = [
          ...['--admin', `https://127.0.0.1:${String(app.server.admin.port)}`, '--ca', ca.file],
          ...['--url', `https://127.0.0.1:${String(app.port)}`],
          ...['--namespace', app.namespace, '--token', app.token],
        ];
        const call = (...more: string[]): Promise<CliAnswer> => cliCall([...command, ...at, ...more]);

        expect((await call('--cert', cert, '--key', key)).code).toBe(0);
        expect((await call('--timeout', '1')).code).toBe(2);
        expect((await call('--cert', cert)).err).toContain('--cert and --key must be given together');
        const { key: other } = ca.sign('other');
        expect((await call('--cert', cert, '--key', other)).err).toContain('cannot be used together');
      },
    );
  });

  describe('a stopping server with TLS', () => {
    it('is not delayed by a client whose handshake is not complete', async () => {
      const files = { cert: readFileSync(own.cert), key: readFileSync(own.key) };
      const server = createServer(files);
      const connections = new Connections(server);
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      // The server's part of the handshake is on its way for a while.
      const sockets: Socket[] = [];
      const proxy = createProxy((client) => {
        const behind = connectPlain(portOf(server), '127.0.0.1');
        sockets.push(client, behind);
        for (const socket of [client, behind]) socket.on('error', () => undefined);
        client.pipe(behind);
        behind.on('data', (bytes) => setTimeout(() => client.write(bytes), 300));
      });
      await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
      const { port } = proxy.address() as { port: number };
      const client = connect({ port, host: '127.0.0.1', ca: ca.pem }).on('error', () => undefined);
      await waitFor(() => sockets[1] !== undefined && sockets[1].bytesRead > 0);

      const beganMs = performance.now();
      try {
        expect(await connections.drain(10_000)).toBe(0);
        expect(performance.now() - beganMs).toBeLessThan(5_000);
      } finally {
        for (const socket of [client, ...sockets]) socket.destroy();
        proxy.close();
      }
    });
  });

  describe('a server of two workers with TLS', () => {
    it('logs https addresses, uses a new certificate while it runs, and stops with an idle client', async () => {
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
        const addresses = `"api":"${server.url}","admin":"${server.adminUrl}"`;
        await waitFor(() => server.output.includes(addresses));
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
});

describe('certificate files', () => {
  const CHECK_MS = 20;

  describe('the TLS files of a listener', () => {
    let ca: TestCa;
    let server: Server;
    let files: TlsFiles;
    let log: { level: string; details: object; message: string }[];
    let mounted: string;

    /** Puts files in place as Kubernetes does: a folder of their own, and a link that is moved over the old one. */
    const mount = (name: string, certificate: CertificateFiles): void => {
      const folder = join(ca.dir, `data-${name}`);
      mkdirSync(folder, { recursive: true });
      copyFileSync(certificate.cert, join(folder, 'tls.crt'));
      copyFileSync(certificate.key, join(folder, 'tls.key'));
      symlinkSync(folder, join(ca.dir, 'next'));
      renameSync(join(ca.dir, 'next'), mounted);
    };
    const section = () => ({ tls_cert: join(mounted, 'tls.crt'), tls_key: join(mounted, 'tls.key') });
    /** The subject of the certificate that a client is shown. */
    const shown = (): Promise<string> =>
      new Promise((resolve, reject) => {
        const { port } = server.address() as AddressInfo;
        const socket = connect({ port, host: '127.0.0.1', ca: ca.pem }, () => {
          resolve(String(socket.getPeerCertificate().subject.CN));
          socket.destroy();
        });
        socket.once('error', reject);
      });

    beforeAll(() => {
      ca = TestCa.create();
      mounted = join(ca.dir, 'mounted');
      ca.sign('one');
      ca.sign('two');
    });
    afterAll(() => ca.remove());

    beforeEach(async () => {
      log = [];
      mount('one', { cert: join(ca.dir, 'one.crt'), key: join(ca.dir, 'one.key') });
      files = TlsFiles.of('server', Object.assign(new TlsListenerConfig(), section()))!;
      server = createServer(files.options);
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const take = (level: string) => (details: object, message: string) =>
        void log.push({ level, details, message });
      files.watch(
        server,
        { debug: take('debug'), info: take('info'), warn: take('warn'), error: take('error') },
        CHECK_MS,
      );
    });
    afterEach(async () => {
      await files.stop();
      server.close();
      server.closeAllConnections();
      rmSync(mounted);
    });

    it('are loaded again when they change', async () => {
      expect(await shown()).toBe('one');
      mount('two', { cert: join(ca.dir, 'two.crt'), key: join(ca.dir, 'two.key') });

      await waitFor(async () => (await shown()) === 'two');
      expect(log).toEqual([
        { level: 'info', details: { section: 'server' }, message: 'certificate reloaded' },
      ]);
    });

    it.each<[string, (folder: string) => void]>([
      [
        'is broken',
        (folder) => writeFileSync(join(folder, 'tls.crt'), '-----BEGIN CERTIFICATE-----\nnonsense\n'),
      ],
      ['is no PEM', (folder) => writeFileSync(join(folder, 'tls.crt'), 'nonsense')],
      ['is missing', (folder) => rmSync(join(folder, 'tls.key'))],
      [
        'does not fit the other file',
        (folder) => copyFileSync(join(ca.dir, 'two.key'), join(folder, 'tls.key')),
      ],
    ])(
      'stay in use if a new file %s, with one error in the log, until a right one is there',
      async (_what, spoil) => {
        spoil(mounted);
        await waitFor(() => log.length > 0);
        await new Promise((resolve) => setTimeout(resolve, 5 * CHECK_MS));

        expect(log).toHaveLength(1);
        expect(log[0]).toMatchObject({ level: 'error', details: { section: 'server' } });
        expect(JSON.stringify(log)).not.toMatch(/nonsense/);
        expect(await shown()).toBe('one');
        mount('three', { cert: join(ca.dir, 'two.crt'), key: join(ca.dir, 'two.key') });
        await waitFor(async () => (await shown()) === 'two');
      },
    );

    it('are undefined if no file is set', () => {
      expect(TlsFiles.of('server', new TlsListenerConfig())).toBeUndefined();
    });

    it('fail with the name of the setting if they cannot be used', () => {
      const wrong = (change: object): unknown => {
        try {
          return TlsFiles.of('admin', Object.assign(new TlsListenerConfig(), section(), change));
        } catch (error) {
          return (error as Error).message;
        }
      };

      expect(wrong({ tls_cert: '/none/tls.crt' })).toMatch(
        /admin\.tls_cert: \/none\/tls\.crt cannot be read: there is no such file/,
      );
      const noCa = wrong({ tls_client_ca: join(ca.dir, 'one.key') });
      expect(noCa).toMatch(/admin\.tls_client_ca: .*one\.key holds no certificate/);
      expect(wrong({ tls_key: join(ca.dir, 'two.key') })).toMatch(/cannot be used together/);
    });
  });
});
