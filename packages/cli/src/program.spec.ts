import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { everyCommand, program, run } from './program.js';

interface AdminCall {
  readonly request: string;
  readonly body: string;
  readonly authorization: string | undefined;
}
interface Answer {
  readonly status: number;
  readonly body: string;
}

describe('the command line with an admin port', () => {
  let server: Server;
  let url: string;
  let calls: AdminCall[];
  let answer: Answer | null;

  beforeAll(async () => {
    server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        const { authorization } = request.headers;
        calls.push({ request: `${request.method ?? ''} ${request.url ?? ''}`, body, authorization });
        if (answer) response.writeHead(answer.status).end(answer.body);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });

  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  beforeEach(() => {
    calls = [];
    answer = { status: 200, body: '{}' };
  });

  async function call(...args: string[]): Promise<{ code: number; out: string; err: string }> {
    let [out, err] = ['', ''];
    const code = await run(args, { out: (text) => (out += text), err: (text) => (err += text) });
    return { code, out, err };
  }

  it('creates a token and prints only the token', async () => {
    answer = { status: 201, body: '{"token":"T1"}' };
    const { code, out, err } = await call(
      'token',
      'create',
      'mail',
      '-d',
      'the mailer',
      '--pool',
      'p',
      '--admin',
      url,
    );
    expect({ code, out, err }).toEqual({ code: 0, out: 'T1\n', err: '' });
    expect(calls[0]!.request).toBe('POST /token/mail?description=the+mailer&pool=p');
  });

  it('accepts general options before the command', async () => {
    answer = { status: 200, body: '["default"]' };
    expect(await call('--admin', url, '--json', 'pools')).toMatchObject({ code: 0, out: '["default"]\n' });
    expect(await call('--admin', url, 'pools')).toMatchObject({ code: 0, out: 'default\n' });
  });

  it('lists tokens in columns or as JSON', async () => {
    answer = { status: 200, body: '{"tokens":{"T1":"one","LONGER":"two"}}' };
    expect((await call('token', 'ls', 'mail', '--admin', url)).out).toBe('T1      one\nLONGER  two\n');
    expect((await call('token', 'ls', 'mail', '--admin', url, '--json')).out).toBe(`${answer.body}\n`);
  });

  it('prints how to create a token if the namespace has no token', async () => {
    answer = { status: 200, body: '{"tokens":{},"details":{}}' };
    expect(await call('token', 'ls', 'mail', '--admin', url)).toEqual({
      ...{ code: 0, out: '' },
      err: 'There is no token. To make one: pumphouse token create mail -d "what it is for"\n',
    });
  });

  it('lists rights, expiry and last use of tokens', async () => {
    const details = {
      description: 'two words',
      verbs: ['consume'],
      queues: ['a-*', 'b'],
      expires_at: '2030-01-31T12:00:00.123Z',
      last_used_at: null,
      replaced: true,
    };
    answer = { status: 200, body: JSON.stringify({ tokens: { T1: 'two words' }, details: { T1: details } }) };
    expect((await call('token', 'ls', 'mail', '--admin', url)).out).toBe(
      'TOKEN  VERBS    QUEUES  EXPIRES                          LAST USED  DESCRIPTION\n' +
        'T1     consume  a-*,b   2030-01-31T12:00:00Z (replaced)  never      two words\n',
    );
    expect(calls[0]!.request).toBe('GET /token/mail?details=true');
  });

  it('creates a token with limited rights and rotates a token', async () => {
    answer = { status: 201, body: '{"token":"T2"}' };
    const rights = ['--verbs', 'consume', '--queues', 'mail-*,news', '--expires', '90d'];
    await call('token', 'create', 'mail', '-d', 'x', ...rights, '--admin', url);
    const rotated = await call('token', 'rotate', 'mail', 'p:T1', '--grace', '1h', '--admin', url);
    expect(rotated).toMatchObject({ code: 0, out: 'T2\n' });
    expect(calls.map(({ request }) => request)).toEqual([
      'POST /token/mail?description=x&verbs=consume&queues=mail-*%2Cnews&expires=90d',
      'POST /token/mail/p%3AT1/rotate?grace=1h',
    ]);
  });

  it('reads a chosen token from a file', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'pumphouse-token-'));
    const file = join(folder, 'token');
    writeFileSync(file, 'chosen-token-of-a-file\n');
    answer = { status: 201, body: '{"token":"T1"}' };
    await call('token', 'create', 'mail', '-d', 'x', '--token', `@${file}`, '--admin', url);
    await call('token', 'rotate', 'mail', 'T1', '--token', `@${file}`, '--admin', url);
    const missing = await call('token', 'rotate', 'mail', 'T1', '--token', '@/none', '--admin', url);
    rmSync(folder, { recursive: true });
    expect(calls.map(({ request }) => request)).toEqual([
      'POST /token/mail?description=x&token=chosen-token-of-a-file',
      'POST /token/mail/T1/rotate?token=chosen-token-of-a-file',
    ]);
    expect([missing.code, missing.err]).toEqual([
      2,
      expect.stringContaining('cannot read the token in /none'),
    ]);
  });

  it('calls an admin port that a proxy serves under a path', async () => {
    answer = { status: 200, body: '["default"]' };
    for (const path of ['', '/', '/pumphouse/admin', '/pumphouse/admin/'])
      expect((await call('pools', '--admin', `${url}${path}`)).code).toBe(0);
    expect(calls.map(({ request }) => request)).toEqual([
      ...['GET /pools', 'GET /pools', 'GET /pumphouse/admin/pools', 'GET /pumphouse/admin/pools'],
    ]);
  });

  it('escapes names in paths', async () => {
    answer = { status: 204, body: '' };
    expect(await call('token', 'rm', 'mail', 'pool:a/b?c', '--admin', url)).toMatchObject({ code: 0 });
    expect(calls.map(({ request }) => request)).toEqual([
      'GET /token/mail/pool%3Aa%2Fb%3Fc',
      'DELETE /token/mail/pool%3Aa%2Fb%3Fc',
    ]);
  });

  it.each(['token', 'limit'])('deletes nothing, and says so, if there is no such %s', async (command) => {
    answer = { status: 404, body: 'null' };
    const { code, out } = await call(command, 'rm', 'mail', 'T1', '--admin', url);
    expect([code, out, calls.map(({ request }) => request.split(' ')[0])]).toEqual([1, '', ['GET']]);
  });

  it('prints the read and write limits of the API as consume and publish in JSON', async () => {
    answer = { status: 200, body: '{"interval":3,"read":1,"write":0}' };
    const shown = '{"interval":3,"consume":1,"publish":0}\n';
    expect((await call('limit', 'show', 'mail', 'T1', '--admin', url, '--json')).out).toBe(shown);
    answer = { status: 200, body: '{"limiter":{"interval":3,"read":1,"write":0}}' };
    const set = ['limit', 'set', 'mail', 'T1', '--interval', '3', '--read', '1', '--admin', url, '--json'];
    expect((await call(...set)).out).toBe(shown);
  });

  it('sets and deletes the limit of a token, and fails to show a missing limit', async () => {
    answer = { status: 200, body: '{"limiter":{"interval":3,"read":1,"write":0}}' };
    const set = ['limit', 'set', 'mail', 'T1', '--interval', '3', '--admin', url];
    const shown = { code: 0, out: 'interval  3\nconsume   1\npublish   0\n' };
    expect(await call(...set, '--read', '1')).toMatchObject(shown);
    expect(await call(...set, '--consume', '1')).toMatchObject(shown);
    expect(calls[1]).toEqual(calls[0]);
    expect(calls[0]).toMatchObject({
      request: 'PUT /token/mail/T1/limit',
      body: '{"read":1,"write":0,"interval":3}',
    });
    answer = { status: 404, body: 'null' };
    expect(await call('limit', 'show', 'mail', 'T1', '--admin', url)).toMatchObject({
      code: 1,
      err: 'pumphouse: the token has no limit\n',
    });
    answer = { status: 200, body: '{"msg":"success"}' };
    expect(await call('limit', 'rm', 'mail', 'T1', '--admin', url)).toMatchObject({
      code: 0,
      out: 'deleted\n',
    });
  });

  it('prints namespaces with their queues', async () => {
    answer = { status: 200, body: '{"mail":["a","b"],"x":[]}' };
    expect((await call('namespace', 'ls', '--admin', url)).out).toBe('mail  a b\nx\n');
  });

  it('lists background loops in columns or as JSON', async () => {
    const run = { last_run_at: '2030-01-31T12:00:00.123Z', duration_ms: 1.5, moved: 3, lag_ms: 0.2 };
    const fine = { next_run_at: '2030-01-31T12:00:01.123Z', last_error: null, last_error_at: null };
    const failed = { next_run_at: null, last_error: 'no store', last_error_at: '2030-01-31T11:00:00.000Z' };
    const idle = { last_run_at: null, duration_ms: null, moved: null, lag_ms: null };
    const loops = [
      { pid: 7, pool: 'default', name: 'sweep', ...run, ...fine },
      { pid: 7, pool: 'eu', name: 'pump', ...idle, ...failed },
    ];
    answer = { status: 200, body: JSON.stringify({ loops }) };
    expect((await call('loop', 'ls', '--admin', url)).out).toBe(
      'PID  POOL     LOOP   LAST RUN                  MS   MOVED  LATE MS  NEXT RUN                  LAST ERROR\n' +
        '7    default  sweep  2030-01-31T12:00:00.123Z  1.5  3      0.2      2030-01-31T12:00:01.123Z  -\n' +
        '7    eu       pump   -                         -    -      -        -                         2030-01-31T11:00:00.000Z no store\n',
    );
    expect((await call('loop', 'ls', '--json', '--admin', url)).out).toBe(`${answer.body}\n`);
    expect(calls.map(({ request }) => request)).toEqual(['GET /loops', 'GET /loops']);
  });

  it('shows the limit of a token in the words of the permissions', async () => {
    const limit = { interval: 1, read: 5, write: 0 };
    answer = { status: 200, body: JSON.stringify({ token: 'T1', verbs: ['consume'], limit }) };
    const shown = '{"interval":1,"consume":5,"publish":0}';
    expect((await call('token', 'show', 'mail', 'T1', '--admin', url)).out).toBe(
      `token  T1\nverbs  consume\nlimit  ${shown}\n`,
    );
    answer = { status: 200, body: JSON.stringify({ tokens: { T1: 'x' }, details: { T1: { limit } } }) };
    expect((await call('token', 'ls', 'mail', '--admin', url, '--json')).out).toBe(
      `{"tokens":{"T1":"x"},"details":{"T1":{"limit":${shown}}}}\n`,
    );
  });

  it('lists the limits of all tokens', async () => {
    const limiter = { read: 100, write: 0, interval: 1 };
    answer = { status: 200, body: JSON.stringify([{ limiter, namespace: 'mail', token: 'T1' }]) };
    expect((await call('limit', 'ls', '--admin', url)).out).toBe(
      'NAMESPACE  TOKEN  CONSUME  PUBLISH  INTERVAL\nmail       T1     100      0        1\n',
    );
  });

  it.each([
    ['job get', 'job show'],
    ['recurring get', 'recurring show'],
    ['token list', 'token ls'],
    ['token delete', 'token rm'],
    ['limit get', 'limit show'],
    ['limit delete', 'limit rm'],
    ['quota get', 'quota show'],
    ['workers ls', 'worker ls'],
    ['pools', 'pool ls'],
    ['info', 'namespace ls'],
    ['loops', 'loop ls'],
  ])('runs `%s`, the old name of `%s`, and shows it in no help', async (before, now) => {
    const [old, current] = [before.split(' '), now.split(' ')];
    const help = await call(...current, '--help');
    expect([help.code, help.out]).toEqual([0, expect.stringContaining(`Usage: pumphouse ${now} `)]);
    const same = (text: string): string =>
      text.replace(`Usage: pumphouse ${before} `, `Usage: pumphouse ${now} `);
    expect(same((await call(...old, '--help')).out)).toBe(help.out);
    const hidden = old.filter((name) => !current.includes(name)).join('|');
    for (const args of [['--help'], [...current.slice(0, 1), '--help'], [...current, '--help']]) {
      const { out } = await call(...args);
      expect(out).not.toMatch(new RegExp(`^ {2}(${hidden}) |\\|(${hidden})`, 'm'));
    }
  });

  it('runs `list`, `get` and `delete` in each group that has `ls`, `show` or `rm`, and shows them nowhere', async () => {
    const oldNames: Readonly<Record<string, string>> = { ls: 'list', show: 'get', rm: 'delete' };
    const all = everyCommand(program({ out: () => undefined, err: () => undefined }));
    const renamed = all.filter((command) => command.name() in oldNames);
    expect(renamed.length).toBeGreaterThan(20);
    for (const { name, parent } of renamed.map((one) => ({ name: one.name(), parent: one.parent!.name() }))) {
      const old = oldNames[name]!;
      const { code, out } = await call(parent, old, '--help');
      expect([parent, code, out]).toEqual([
        ...[parent, 0],
        expect.stringContaining(`Usage: pumphouse ${parent} ${name} `),
      ]);
      expect((await call(parent, '--help')).out).not.toMatch(new RegExp(`^ {2}${old} |\\|${old}`, 'm'));
      expect((await call('__complete', '--', parent, '')).out.split('\n')).not.toContain(old);
    }
  });

  it.each([
    [['quota', 'set', 'mail', '--max-jobs', '3'], '--max-jobs-per-queue'],
    [['job', 'publish', 'mail', '1', '--idem', 'x'], 'one of --idempotency-key, --idempotency-ttl'],
    [['limit', 'set', 'a', 'b', '--interval', '1', '--rea', '3'], undefined],
  ])('suggests the visible options that begin with the unknown one: %j', async (args, meant) => {
    const [plain, inJson] = [await call(...args), await call(...args, '--json')];
    expect([plain.code, inJson.code]).toEqual([2, 2]);
    const { message } = (JSON.parse(inJson.err) as { error: { message: string } }).error;
    for (const text of [plain.err, message]) {
      expect(text).toContain('unknown option');
      if (meant === undefined) expect(text).not.toContain('Did you mean');
      else expect(text).toContain(`(Did you mean ${meant}?)`);
    }
  });

  it('completes the shown names only, also behind an old one', async () => {
    const candidates = async (...typed: string[]): Promise<string[]> =>
      (await call('__complete', '--', ...typed)).out.trimEnd().split('\n');
    expect(await candidates('pool', '')).toEqual(['ls']);
    expect(await candidates('po')).toEqual(['pool']);
    expect(await candidates('workers', 's')).toEqual(['show', 'stop']);
    expect(await candidates('job', 'publish', 'q', '--retry', '')).toEqual([
      'none',
      'fixed',
      'linear',
      'exponential',
      'list',
    ]);
  });

  it('exits with 1 and prints the message of the server if the server refuses', async () => {
    answer = { status: 400, body: '{"error":"the pool was not exists"}' };
    expect(await call('token', 'ls', 'mail', '--admin', url)).toMatchObject({
      code: 1,
      err: 'pumphouse: the pool was not exists\n',
    });
  });

  it('sends the account of --account, of a file or of the address, and names --account if it is missing', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'pumphouse-cli-'));
    const file = join(folder, 'account');
    writeFileSync(file, 'ops:secret\n');
    await call('pools', '--admin', url, '--account', 'ops:secret');
    await call('pools', '--admin', url, '--account', `@${file}`);
    await call('pools', '--admin', url.replace('http://', 'http://ops:secret@'));
    rmSync(folder, { recursive: true });
    const wanted = `Basic ${Buffer.from('ops:secret').toString('base64')}`;
    expect(calls.map(({ authorization }) => authorization)).toEqual([wanted, wanted, wanted]);
    answer = { status: 401, body: '{"error":"unauthorized"}' };
    const refused = await call('pools', '--admin', url);
    expect(refused).toMatchObject({
      code: 1,
      err: 'pumphouse: unauthorized: the server has accounts. Give one with --account user:password, or set PUMPHOUSE_ADMIN_AUTH\n',
    });
    expect((await call('pools', '--admin', url, '--account', 'ops:wrong')).err).toBe(
      'pumphouse: unauthorized: --account (or PUMPHOUSE_ADMIN_AUTH) must name an account of this server, with its password\n',
    );
  });

  it.each([
    [401, 'unauthorized', 'Give an account of the server, with its password'],
    [403, 'it needs the role admin', 'Use an account with the role that the message names'],
  ])('gives the remedy for the status %d in doctor', async (status, error, action) => {
    answer = { status, body: JSON.stringify({ error }) };
    const { code, out } = await call('doctor', '--admin', url, '--json');
    expect(code).toBe(1);
    const found = (JSON.parse(out) as { check: string; found: string; action: string }[]).filter(
      ({ check }) => check !== 'API' && check !== 'token',
    );
    expect(found.length).toBeGreaterThan(2);
    for (const one of found) {
      expect(one.found).toContain(error);
      expect(one.action).toContain(action);
    }
  });

  it.each([
    ['no answer in time', '{"late":1}'],
    ['a server that fails', '{"error":"service unavailable"}'],
  ])('exits with 2 if the admin port cannot answer: %s', async (what, body) => {
    answer = what === 'no answer in time' ? null : { status: 503, body };
    const { code, err } = await call('pools', '--admin', url, '--timeout', '0.2');
    expect(code).toBe(2);
    expect(err).toContain(answer ? 'service unavailable' : 'no answer within 0.2 s');
    expect(err.includes('give --timeout')).toBe(answer === null);
  });

  it('exits with 2 if no server listens or the answer is not of an admin port, and says how to name the address', async () => {
    const away = await call('pools', '--admin', 'http://127.0.0.1:9');
    expect(away.code).toBe(2);
    answer = { status: 200, body: '<html>' };
    const other = await call('pools', '--admin', url);
    expect(other.code).toBe(2);
    for (const { err } of [away, other]) expect(err).toContain('Give --admin, or set PUMPHOUSE_ADMIN_URL.');
  });

  it.each([
    ['nonsense'],
    ['token', 'create', 'mail'],
    ['token', 'rm', 'mail'],
    ['limit', 'set', 'mail', 'T1', '--interval', '3'],
    ['limit', 'set', 'mail', 'T1', '--read', 'x', '--interval', '3'],
    ['pools', '--admin', 'ftp://x'],
    ['pools', '--timeout', '0'],
  ])('exits with 2 on wrong usage: %s %s %s', async (...args) => {
    const { code, err } = await call(...args);
    expect(code).toBe(2);
    expect(err).toContain('error:');
    expect(calls).toEqual([]);
  });

  it('does not print the password of an invalid address', async () => {
    const { code, out, err } = await call('pools', '--admin', 'ops:hidden@host:7778');
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain('error: --admin (or its environment variable) must begin with http://');
    expect(err).not.toContain('hidden');
  });

  it('prints its version', async () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    expect(await call('--version')).toEqual({ code: 0, out: `${version}\n`, err: '' });
  });

  it('prints help with examples', async () => {
    const { code, out } = await call('--help');
    expect(code).toBe(0);
    for (const text of [
      'Examples:',
      'serve',
      'token',
      'limit',
      'pool',
      'namespace',
      'loop',
      'doctor',
      'Exit status',
    ]) {
      expect(out).toContain(text);
    }
    expect((await call('token', '--help')).out).toContain('pumphouse token create mail');
  });
});
