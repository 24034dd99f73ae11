import { spawnSync } from 'node:child_process';
import { curlOf, linesOf, quoted, server } from '../src/lib/lines.js';

/** The arguments that a shell makes of a line. */
function argumentsOf(line: string): string[] {
  const { stdout } = spawnSync('sh', ['-c', `printf '%s\\0' ${line}`], {
    encoding: 'utf8',
    env: { PUMPHOUSE_URL: 'U', PUMPHOUSE_TOKEN: 'T' },
  });
  return stdout.split('\0').slice(0, -1);
}

describe('lines for the shell', () => {
  const usual = server.value;
  afterEach(() => {
    server.value = usual;
  });

  it.each(['a b', "it's", '$HOME', '`id`', '', 'a\nb', '"', '\\', '*', '; rm -rf /', '{"a":"$(id)"}'])(
    'keep the text %j',
    (text) => {
      expect(argumentsOf(quoted(text))).toEqual([text]);
    },
  );

  it('name the token by a variable, and have the whole call', () => {
    const line = curlOf({ method: 'POST', path: "/v1/demo/jobs?tag=it's", body: '{"data":"$(id)"}' });
    expect(argumentsOf(line)).toEqual([
      'curl',
      '-s',
      '-H',
      'X-Token: T',
      "U/v1/demo/jobs?tag=it's",
      '-d',
      '{"data":"$(id)"}',
    ]);
    expect(curlOf({ method: 'DELETE', path: '/v1/demo/jobs/1' })).toContain(' -X DELETE ');
    expect(curlOf({ method: 'GET', path: '/redis' })).toBe(
      'curl -s -u "$PUMPHOUSE_ADMIN_AUTH" "${PUMPHOUSE_ADMIN_URL:-http://127.0.0.1:7778}"/redis',
    );
  });

  it('name the address of the page, if it is safe in a shell, and no account where there are none', () => {
    server.value = { adminUrl: 'https://ops.example.com/queue', apiUrl: null, hasAccounts: false };
    const line = (path = '/redis'): string => curlOf({ method: 'GET', path });
    expect(line()).toBe('curl -s "${PUMPHOUSE_ADMIN_URL:-https://ops.example.com/queue}"/redis');
    server.value = { adminUrl: 'http://h/$(id)', apiUrl: null, hasAccounts: false };
    expect(line()).toBe('curl -s "$PUMPHOUSE_ADMIN_URL"/redis');
  });

  it('name the address of the API as the server knows it, or a variable alone', () => {
    const line = (): string => curlOf({ method: 'GET', path: '/v1/demo/queues' });
    server.value = { ...usual, apiUrl: 'https://queue.example.com' };
    expect(line()).toContain('"${PUMPHOUSE_URL:-https://queue.example.com}"/v1/demo/queues');
    server.value = { ...usual, apiUrl: null };
    expect(line()).toContain('"$PUMPHOUSE_URL"/v1/demo/queues');
  });

  it('have the namespace behind the command', () => {
    const call = { method: 'GET', path: '/v1/demo/queues/mail' };
    expect(linesOf(call, { pool: 'default', namespace: 'demo' }, ['queue', 'show', 'mail']).cli).toBe(
      'pumphouse queue show mail --namespace demo',
    );
    expect(linesOf(call, null, null).cli).toBeNull();
  });

  it('have a whole line as it is, with the quotes of the server', () => {
    const line = "pumphouse queue resume mail --type 'sms' --namespace demo";
    const call = { method: 'POST', path: '/v1/demo/queues/mail/resume', body: '{"type":"sms"}' };
    expect(linesOf(call, { pool: 'default', namespace: 'demo' }, line).cli).toBe(line);
  });
});
