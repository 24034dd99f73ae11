import { run } from '../program.js';

/**
 * Only the command line. The import itself is tested with real stores in test/api/import-lmstfy.spec.ts and
 * test/faults/import.spec.ts.
 */
describe('pumphouse import-lmstfy', () => {
  async function call(...args: string[]): Promise<{ code: number; err: string }> {
    let err = '';
    const output = { out: () => undefined, err: (text: string): void => void (err += text) };
    return { code: await run(['import-lmstfy', ...args], output), err };
  }

  it.each<[string[], string]>([
    [[], "required option '--from <url>' not specified"],
    [['--from', 'http://h'], 'It must begin with redis:// or rediss://.'],
    [['--from', 'redis://h', '--to', 'h:6379'], 'It must begin with redis:// or rediss://.'],
    [['--from', 'redis://h', '--follow'], '--follow needs --drain'],
    [
      ['--from', 'redis://h', '--drain', '--follow', '--lmstfy-stopped'],
      '--lmstfy-stopped cannot be used with --follow',
    ],
  ])('refuses the arguments %j with the reason', async (args, message) => {
    const { code, err } = await call(...args);

    expect(code).toBe(2);
    expect(err).toContain(message);
  });
});
