import { Refused, Unreachable } from './admin-client.js';
import { changeEach } from './bulk.js';

function setUp(isJson = false) {
  const printed = { out: '', err: '' };
  const session = {
    isJson,
    out: (text: string) => void (printed.out += text),
    err: (text: string) => void (printed.err += text),
  };
  const change = (id: string): Promise<{ id: string }> => {
    if (id === 'gone') throw new Refused('no such job', 404);
    if (id === 'away') throw new Unreachable('no answer');
    return Promise.resolve({ id });
  };
  const textOf = (changed: readonly { id: string }[]): string => `${changed.map(({ id }) => id).join()}\n`;
  const all = (...ids: string[]): Promise<void> => changeEach(session, ids, { key: 'id', change, textOf });
  return { session, printed, all };
}

describe('changeEach', () => {
  it('continues with the next name after a refusal, and fails at the end with the number of failures', async () => {
    const { printed, all } = setUp();
    await expect(all('a', 'gone', 'b')).rejects.toMatchObject({ message: '1 of 3 failed', exit: 1 });
    expect(printed).toEqual({ out: 'a,b\n', err: 'pumphouse: gone: no such job\n' });
  });

  it('ends at a name for which the server does not answer, and counts the names that were not tried', async () => {
    const { printed, all } = setUp(true);
    const message = '1 of 3 failed, 1 were not tried';
    await expect(all('a', 'away', 'b')).rejects.toMatchObject({ message, exit: 2 });
    expect(JSON.parse(printed.out)).toEqual([
      { id: 'a' },
      { id: 'away', error: { code: 'failed', message: 'no answer' } },
    ]);
  });

  it('throws the error of the server if there is only one name', async () => {
    const { printed, all } = setUp();
    await expect(all('gone')).rejects.toBeInstanceOf(Refused);
    expect(printed).toEqual({ out: '', err: '' });
  });
});
