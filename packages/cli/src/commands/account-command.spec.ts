import { hasHash, parsePasswordHash } from '#src/domain/password-hash';
import { run } from '../program.js';

describe('pumphouse account hash', () => {
  /** Runs the command with an input. */
  async function hash(input: string, ...args: string[]): Promise<{ code: number; out: string; err: string }> {
    const [out, err]: [string[], string[]] = [[], []];
    const code = await run(['account', 'hash', ...args], {
      out: (text) => void out.push(text),
      err: (text) => void err.push(text),
      input: () => Promise.resolve(Buffer.from(input)),
    });
    return { code, out: out.join(''), err: err.join('') };
  }

  it('prints a hash of the password in the standard input, without the end of its line', async () => {
    for (const end of ['', '\n', '\r\n']) {
      const { code, out, err } = await hash(`a long pässword${end}`);
      expect([code, err]).toEqual([0, '']);
      expect(await hasHash('a long pässword', parsePasswordHash(out.trimEnd())!)).toBe(true);
    }
  });

  it('prints the hash as JSON with --json', async () => {
    const { out } = await hash('a long pässword', '--json');
    const { password_hash: text } = JSON.parse(out) as { password_hash: string };
    expect(await hasHash('a long pässword', parsePasswordHash(text)!)).toBe(true);
  });

  it.each([
    ['nothing', '', 'at least 8 characters'],
    ['a short password', 'secret\n', 'at least 8 characters'],
    ['two lines', 'a long password\nanother one\n', 'one line'],
  ])('refuses %s, and does not repeat it', async (_what, input, message) => {
    const { code, out, err } = await hash(input);
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain(message);
    expect(err).not.toContain('long password');
  });

  it('takes no password as an argument, where other users of the machine would see it', async () => {
    const { code, err } = await hash('a long password', 'secret-in-argument');
    expect([code, err.includes('too many arguments')]).toEqual([2, true]);
  });
});
