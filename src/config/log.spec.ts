import { createLog, redactUrl } from './log.js';
import type { LogConfig } from './config.js';

function collect(config: Partial<LogConfig> = {}) {
  const lines: string[] = [];
  const log = createLog(
    { level: 'info', format: 'json', ...config },
    { write: (line: string) => void lines.push(line) },
  );
  return { log, lines, last: () => JSON.parse(lines.at(-1) ?? '{}') as Record<string, unknown> };
}

describe('the log', () => {
  it('writes a JSON object per line with level and time', () => {
    const { log, last } = collect();
    log.warn({ pool: 'default' }, 'slow');

    expect(last()).toMatchObject({ level: 'warn', pool: 'default', msg: 'slow', pid: process.pid });
    expect(last()['time']).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/);
  });

  it('writes lines of plain text with the format pretty', () => {
    const { log, lines } = collect({ format: 'pretty' });
    log.info({}, 'hello');

    expect(lines.join('')).toMatch(/INFO.*hello/);
    expect(lines.join('')).not.toContain('{');
  });

  it('writes JSON with the format auto if there is no terminal', () => {
    const { log, last } = collect({ format: 'auto' });
    log.info({}, 'hello');

    expect(last()).toMatchObject({ msg: 'hello' });
  });

  it('drops lines below its level, also after the level was changed', () => {
    const { log, lines } = collect({ level: 'error' });
    log.warn({}, 'one');
    log.level = 'debug';
    log.debug({}, 'two');

    expect(lines).toHaveLength(1);
  });

  it('hides fields with secrets, such as token and password, at the top level and one level below', () => {
    const { log, lines } = collect();
    log.info(
      {
        token: 'hunter2',
        headers: { 'x-token': 'hunter2', authorization: 'hunter2' },
        redis: { password: 'hunter2' },
      },
      'x',
    );

    expect(lines.join('')).not.toContain('hunter2');
    expect(lines.join('').match(/\[redacted\]/g)).toHaveLength(4);
  });

  it('logs an error with its cause, without secrets in URLs and in the command that the Redis driver attaches', () => {
    const { log, last, lines } = collect();
    const cause = Object.assign(
      new Error("ERR unknown command 'AUTO', with args beginning with: 'hunter2'"),
      {
        code: 'EUNKNOWN',
        command: { name: 'auth', args: ['hunter2'] },
      },
    );
    log.error({ err: new Error('cannot connect to redis://user:hunter2@host:1/0', { cause }) }, 'x');

    expect(last()['err']).toMatchObject({
      type: 'Error',
      message: 'cannot connect to redis://[redacted]@host:1/0',
      stack: expect.stringContaining('log.spec.ts') as string,
      cause: { message: "ERR unknown command 'AUTO'", code: 'EUNKNOWN' },
    });
    expect(lines.join('')).not.toContain('hunter2');
  });

  it('logs a thrown text without the password of a URL, and only the type of another thrown value', () => {
    const { log, last } = collect();
    log.error({ err: 'redis://:hunter2@host' }, 'x');
    expect(last()['err']).toBe('redis://[redacted]@host');
    log.error({ error: { secret: 'hunter2' } }, 'x');
    expect(last()['error']).toBe('object');
  });

  it('writes one line for two errors that are the cause of each other', () => {
    const { log, lines } = collect();
    const one = new Error('one');
    one.cause = new Error('two', { cause: one });
    log.error({ err: one }, 'x');

    expect(lines).toHaveLength(1);
  });
});

describe('a URL in the log', () => {
  it.each([
    ['/api/ns/q?timeout=3', '/api/ns/q?timeout=3'],
    ['/api/ns/q?token=hunter2', '/api/ns/q?token=[redacted]'],
    ['/api/ns/q?ttr=1&token=hunter2&count=2', '/api/ns/q?ttr=1&token=[redacted]&count=2'],
    ['/api/ns/q?token=hunter2&token=hunter2', '/api/ns/q?token=[redacted]&token=[redacted]'],
    ['/api/ns/q?%74oken=hunter2', '/api/ns/q?%74oken=[redacted]'],
    ['/api/ns/q?%54OKEN=hunter2', '/api/ns/q?%54OKEN=[redacted]'],
    ['/api/ns/q?token=pool:hunter2=', '/api/ns/q?token=[redacted]'],
    [
      '/api/ns/q?x-token=hunter2&access%5Ftoken=hunter2',
      '/api/ns/q?x-token=[redacted]&access%5Ftoken=[redacted]',
    ],
    ['/api/ns/q?token', '/api/ns/q?token'],
    ['/token/ns/hunter2', '/token/ns/[redacted]'],
    ['http://host/token/ns/hunter2/limit', 'http://host/token/ns/[redacted]/limit'],
    ['/%74oken/ns/hunter2', '/%74oken/ns/[redacted]'],
    ['/token/ns/hunter2/limit?pool=x', '/token/ns/[redacted]/limit?pool=x'],
    ['/token/ns?pool=x', '/token/ns?pool=x'],
    ['redis://:hunter2@h:1/0', 'redis://[redacted]@h:1/0'],
    ['rediss://u:hun@ter/2@h', 'rediss://[redacted]@h'],
    ['', ''],
  ])('is logged without tokens and passwords: %s as %s', (url, shown) => {
    expect(redactUrl(url)).toBe(shown);
  });
});
