import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { TestApp } from '../../../../test/support/app.js';
import { Cli } from '../../../../test/support/cli.js';

describe('pumphouse login', () => {
  let app: TestApp;
  let cli: Cli;
  let url: string;
  let file: string;

  beforeAll(async () => {
    app = await TestApp.start();
    url = `http://127.0.0.1:${String(app.port)}/`;
  });
  afterAll(() => app.stop());
  beforeEach(() => {
    cli = new Cli();
    file = join(cli.configHome, 'pumphouse', 'context.json');
  });
  afterEach(() => cli.remove());

  const login = (...more: string[]) =>
    cli.callWith(`${app.token}\n`, 'login', '--url', url, '--namespace', app.namespace, ...more);

  it('stores the token from the standard input in a file of mode 0600', async () => {
    const { code, out, err } = await login();
    expect({ code, out, err }).toEqual({
      ...{ code: 0, out: `logged in to ${url}, namespace ${app.namespace}\n`, err: '' },
    });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(dirname(file)).mode & 0o777).toBe(0o700);
    expect(readdirSync(dirname(file))).toEqual(['context.json']);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({
      url,
      namespace: app.namespace,
      token: app.token,
    });
    expect(await cli.call('queue', 'ls', '--json')).toEqual({ code: 0, out: '[]\n', err: '' });
  });

  it('replaces a login file that other users can read, and other commands refuse such a file', async () => {
    mkdirSync(dirname(file));
    writeFileSync(file, '{"token":"old-token-of-another-server"}');
    chmodSync(file, 0o644);
    const refused = await cli.call('queue', 'ls');
    expect([refused.code, refused.out]).toEqual([2, '']);
    expect(refused.err).toContain('other users can read it. Run: chmod 600');
    expect(refused.err).not.toContain('old-token');
    expect((await login()).code).toBe(0);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect((await cli.call('queue', 'ls')).code).toBe(0);
  });

  it('is needed again if its file is damaged, and the error shows no content of the file', async () => {
    mkdirSync(dirname(file));
    writeFileSync(file, 'secret-token-1', { mode: 0o600 });
    const { code, err } = await cli.call('queue', 'ls');
    expect(code).toBe(2);
    expect(err).toContain('it is not JSON. Log in again');
    expect(err).not.toContain('secret-token-1');
  });

  it('neither stores nor prints a token that the server refuses', async () => {
    const { code, out, err } = await cli.call(
      ...['login', '--url', url, '--namespace', app.namespace, '--token', 'secret-token-1'],
    );
    expect([code, out, existsSync(file)]).toEqual([1, '', false]);
    expect(err).toContain('token_invalid');
    expect(err).not.toContain('secret-token-1');
    expect((await cli.callWith('', 'login')).err).toContain('--namespace is needed');
  });

  it.each([
    ['an empty option', '', ['--token', ''], 'the token is empty: give --token, set PUMPHOUSE_TOKEN'],
    ['an option of blanks', '', ['--token', '  '], 'the token is empty'],
    ['an empty input', '', [], 'the token is empty'],
    [
      'control characters',
      'a\u0000b\u001b[2J',
      [],
      'the token is invalid: it must be of visible ASCII characters',
    ],
    ['a line break', 'one\ntwo', [], 'the token is invalid'],
    ['bytes that are not UTF-8', Buffer.from([0x61, 0xff]), [], 'cannot read the token: it is not UTF-8'],
    [
      'a file that does not exist',
      '',
      ['--token', '@/none'],
      'cannot read the token in /none: there is no such',
    ],
    ['a folder', '', ['--token', '@/'], 'cannot read the token in /: it is a folder'],
  ])('refuses %s as a token, in one line', async (_what, input, args, message) => {
    const server = ['--url', url, '--namespace', app.namespace];
    const { code, out, err } = await cli.callWith(input, 'login', ...server, ...args);
    expect([code, out, existsSync(file)]).toEqual([2, '', false]);
    expect(err).toMatch(/^pumphouse: [^\n]*\n$/);
    expect(err).toContain(message);
  });

  it('works for a user without a home folder, with the environment alone', async () => {
    // An empty variable is one that is not set.
    Object.assign(cli.env, { XDG_CONFIG_HOME: '', HOME: '/dev/null', PUMPHOUSE_URL: url });
    Object.assign(cli.env, { PUMPHOUSE_NAMESPACE: app.namespace, PUMPHOUSE_TOKEN: app.token });
    expect(await cli.call('queue', 'ls')).toMatchObject({ code: 0, err: '' });
    const refused = await cli.call('login');
    expect([refused.code, refused.out]).toEqual([2, '']);
    expect(refused.err).toMatch(
      /^pumphouse: cannot write \/dev\/null\S+: .*\. Set XDG_CONFIG_HOME to a folder/,
    );
  });

  it('accepts a token that may only publish to one queue', async () => {
    const made = await app.admin('POST', `/token/${app.namespace}?description=x&verbs=publish&queues=mail`);
    const { token } = made.json as { token: string };
    expect((await login('--token', token)).code).toBe(0);
    expect((await cli.call('job', 'publish', 'mail', '{}')).code).toBe(0);
    expect((await cli.call('queue', 'ls')).err).toMatch(/verb_missing|queue_not_allowed/);
  });

  it('stores a login that `pumphouse logout` deletes', async () => {
    await login();
    expect(await cli.call('logout')).toEqual({ code: 0, out: 'logged out\n', err: '' });
    expect(existsSync(file)).toBe(false);
    expect((await cli.call('logout')).out).toBe('Nothing was deleted: there is no login.\n');
    expect((await cli.call('logout', '--json')).out).toBe('{"deleted":false}\n');
    const { code, err } = await cli.call('queue', 'ls');
    expect([code, err]).toEqual([
      ...[
        2,
        'pumphouse: no namespace: give --namespace, set PUMPHOUSE_NAMESPACE, or run `pumphouse login` once\n',
      ],
    ]);
  });

  it('has no effect on `serve`, which also starts with an invalid PUMPHOUSE_URL', async () => {
    cli.env['PUMPHOUSE_URL'] = 'nonsense';
    cli.env['PUMPHOUSE_ADMIN_URL'] = 'nonsense';
    expect((await cli.call('queue', 'ls')).code).toBe(2);
    const { code, out } = await cli.call('serve', '--print-default-config');
    expect([code, out]).toEqual([0, expect.stringContaining('[server]')]);
    expect((await cli.call('serve', '--check-config')).code).toBe(0);
  });

  it('is not needed for a server of this machine whose ports are in the environment of its configuration', async () => {
    cli.env['PUMPHOUSE_ADMIN__PORT'] = new URL(adminUrlOf(app)).port;
    cli.env['PUMPHOUSE_SERVER__PORT'] = String(app.port);
    expect((await cli.call('pool', 'ls')).out).toBe('default\n');
    const api = ['--namespace', app.namespace, '--token', app.token];
    expect((await cli.call('queue', 'ls', ...api)).code).toBe(0);
    expect((await cli.call('pool', 'ls', '--admin', 'http://127.0.0.1:9')).code).toBe(2);
    cli.env['PUMPHOUSE_ADMIN__PORT'] = '70000';
    expect((await cli.call('pool', 'ls')).err).toContain('PUMPHOUSE_ADMIN__PORT must be a port, 1 to 65535');
  });

  it('is told which address to change if that of the API and that of the admin port are mixed up', async () => {
    const api = ['--namespace', app.namespace, '--token', app.token];
    const wrongUrl = await cli.call('queue', 'ls', '--url', adminUrlOf(app), ...api);
    expect([wrongUrl.code, wrongUrl.out]).toEqual([1, '']);
    expect(wrongUrl.err).toContain('Give --url, or set PUMPHOUSE_URL.');
    const wrongAdmin = await cli.call('pool', 'ls', '--admin', url);
    expect([wrongAdmin.code, wrongAdmin.out]).toEqual([2, '']);
    expect(wrongAdmin.err).toMatch(/^pumphouse: \S+ is the API, and not the admin port\n.*--admin/);
    const away = await cli.call('queue', 'ls', '--url', 'http://127.0.0.1:1', '--timeout', '0.5', ...api);
    expect(away.err).toMatch(/^pumphouse: network: .*http:\/\/127\.0\.0\.1:1[^0-9].*\nGive --url, /);
  });

  it('stores a login that the environment and the options override', async () => {
    await login();
    cli.env['PUMPHOUSE_URL'] = 'http://127.0.0.1:1';
    cli.env['PUMPHOUSE_NAMESPACE'] = app.namespace;
    cli.env['PUMPHOUSE_TOKEN'] = app.token;
    expect((await cli.call('queue', 'ls', '--timeout', '0.3')).code).toBe(2);
    expect((await cli.call('queue', 'ls', '--url', url)).code).toBe(0);
    expect((await cli.call('--url', url, 'queue', 'ls')).code).toBe(0);
    cli.env['PUMPHOUSE_URL'] = url;
    cli.env['PUMPHOUSE_TOKEN'] = 'another-token';
    expect((await cli.call('queue', 'ls')).err).toContain('token_invalid');
  });

  describe('the stored login of one server', () => {
    let other: Server;
    let received: string[];

    beforeEach(async () => {
      received = [];
      other = createServer((request, response) => {
        received.push(JSON.stringify(request.headers));
        response.writeHead(404).end('{}');
      });
      await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    });
    afterEach(() => {
      other.closeAllConnections();
      other.close();
    });

    it('is not sent to a server at another address', async () => {
      const admin = adminUrlOf(app);
      await login('--admin', admin, '--account', 'ops:hidden-password');
      const elsewhere = `http://127.0.0.1:${String((other.address() as AddressInfo).port)}`;
      const { code, err } = await cli.call('queue', 'ls', '--url', elsewhere, '--namespace', app.namespace);
      expect([code, err]).toEqual([2, expect.stringContaining('no token: give --token')]);
      expect(received).toEqual([]);
      await cli.call('pools', '--admin', elsewhere);
      expect(received).toHaveLength(1);
      expect(received[0]).not.toContain('authorization');
      expect((await cli.call('pools')).out).toBe('default\n');
    });

    it('is not stored if the address of --admin is not an admin port', async () => {
      const elsewhere = `http://127.0.0.1:${String((other.address() as AddressInfo).port)}`;
      expect((await login('--admin', elsewhere)).code).toBe(1);
      expect(existsSync(file)).toBe(false);
    });
  });
});

function adminUrlOf(app: TestApp): string {
  const { port } = app.server.admin.app.getHttpServer().address() as AddressInfo;
  return `http://127.0.0.1:${String(port)}`;
}
