import { TestApp } from '../../../../test/support/app.js';
import { Cli } from '../../../../test/support/cli.js';

describe('pumphouse variable', () => {
  let app: TestApp;
  let cli: Cli;

  beforeAll(async () => {
    app = await TestApp.start();
    cli = new Cli({
      PUMPHOUSE_URL: `http://127.0.0.1:${String(app.port)}`,
      PUMPHOUSE_NAMESPACE: app.namespace,
      PUMPHOUSE_TOKEN: app.token,
    });
  });
  afterAll(async () => {
    cli.remove();
    await app.stop();
  });

  it('sets, shows, lists and deletes variables with any JSON', async () => {
    expect(await cli.call('variable', 'set', 'mail.sender', '{"userName":"ada","a_b":[1]}')).toMatchObject({
      ...{ code: 0, out: 'set mail.sender\n' },
    });
    await cli.call('variable', 'set', 'hidden', '"\\u001b[2J"');
    const shown = await cli.call('variable', 'show', 'mail.sender');
    expect(shown.out).toBe('{"userName":"ada","a_b":[1]}\n');
    const listed = await cli.call('variable', 'ls');
    expect(listed.out).toContain('{"userName":"ada","a_b":[1]}');
    expect(listed.out).not.toContain('\u001b');
    const all = await cli.call('variable', 'ls', '--json');
    expect(JSON.parse(all.out)).toEqual([
      { name: 'hidden', value: '\u001b[2J' },
      { name: 'mail.sender', value: { userName: 'ada', a_b: [1] } },
    ]);
    expect((await cli.call('variable', 'rm', 'hidden')).out).toBe('deleted hidden\n');
    const gone = await cli.call('variable', 'show', 'hidden');
    expect([gone.code, gone.err]).toEqual([1, expect.stringContaining('variable_not_found')]);
  });

  it('refuses a number that it would change, and sends others', async () => {
    const { code, err } = await cli.call('variable', 'set', 'big', '{"a":[1,-12345678901234567890]}');
    expect([code, err]).toEqual([
      2,
      expect.stringContaining('It has -12345678901234567890, which would be changed: write it as text'),
    ]);
    const fine = String.raw`{"text":"12345678901234567890","quoted":"\"1e999","n":-9007199254740991,"x":1.5e3}`;
    expect((await cli.call('variable', 'set', 'fine', fine)).code).toBe(0);
    expect(JSON.parse((await cli.call('variable', 'show', 'fine')).out)).toEqual(JSON.parse(fine));
  });

  it('refuses a value that is not JSON before anything is sent', async () => {
    const { code, err } = await cli.call('variable', 'set', 'a', 'shop@example.com');
    expect([code, err]).toEqual([2, expect.stringContaining('It must be JSON.')]);
  });
});
