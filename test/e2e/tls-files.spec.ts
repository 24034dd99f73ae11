import { copyFileSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { TestCa, type CertificateFiles } from '../support/certificates.js';
import { waitFor } from '../support/redis.js';
import { TlsListenerConfig } from '../../src/config/config.js';
import { TlsFiles } from '../../src/server/tls-files.js';

const LOOK_MS = 20;

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
      LOOK_MS,
    );
  });
  afterEach(async () => {
    await files.stop();
    server.close();
    server.closeAllConnections();
    rmSync(mounted);
  });

  it('are used anew when they change', async () => {
    expect(await shown()).toBe('one');
    mount('two', { cert: join(ca.dir, 'two.crt'), key: join(ca.dir, 'two.key') });

    await waitFor(async () => (await shown()) === 'two');
    expect(log).toEqual([
      { level: 'info', details: { section: 'server' }, message: 'the certificate was read anew' },
    ]);
  });

  it.each<[string, (folder: string) => void]>([
    [
      'is broken',
      (folder) => writeFileSync(join(folder, 'tls.crt'), '-----BEGIN CERTIFICATE-----\nnonsense\n'),
    ],
    ['is no PEM', (folder) => writeFileSync(join(folder, 'tls.crt'), 'nonsense')],
    ['is missing', (folder) => rmSync(join(folder, 'tls.key'))],
    ['does not fit', (folder) => copyFileSync(join(ca.dir, 'two.key'), join(folder, 'tls.key'))],
  ])('are kept when a new one %s, and the log says so once; a right one mends it', async (_what, spoil) => {
    spoil(mounted);
    await waitFor(() => log.length > 0);
    await new Promise((resolve) => setTimeout(resolve, 5 * LOOK_MS));

    expect(log).toHaveLength(1);
    expect(log[0]).toMatchObject({ level: 'error', details: { section: 'server' } });
    expect(JSON.stringify(log)).not.toMatch(/nonsense/);
    expect(await shown()).toBe('one');
    mount('three', { cert: join(ca.dir, 'two.crt'), key: join(ca.dir, 'two.key') });
    await waitFor(async () => (await shown()) === 'two');
  });

  it('are none when no file is named', () => {
    expect(TlsFiles.of('server', new TlsListenerConfig())).toBeUndefined();
  });

  it('stop the boot when they cannot be used, with the key that names them', () => {
    const wrong = (change: object): unknown => {
      try {
        return TlsFiles.of('admin', Object.assign(new TlsListenerConfig(), section(), change));
      } catch (error) {
        return (error as Error).message;
      }
    };

    expect(wrong({ tls_cert: '/none/tls.crt' })).toMatch(
      /admin\.tls_cert: \/none\/tls\.crt cannot be read \(ENOENT\)/,
    );
    const noCa = wrong({ tls_client_ca: join(ca.dir, 'one.key') });
    expect(noCa).toMatch(/admin\.tls_client_ca: .*one\.key holds no certificate/);
    expect(wrong({ tls_key: join(ca.dir, 'two.key') })).toMatch(/cannot be used together/);
  });
});
