import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { run } from '../program.js';

describe('pumphouse namespace purge', () => {
  let server: Server;
  let url: string;
  let urls: string[];
  let answers: object[];

  beforeAll(async () => {
    server = createServer((request, response) => {
      urls.push(`${request.method ?? ''} ${request.url ?? ''}`);
      response.end(JSON.stringify(answers.shift()));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  beforeEach(() => {
    urls = [];
  });

  async function call(...args: string[]): Promise<{ code: number; out: string; err: string }> {
    let [out, err] = ['', ''];
    const code = await run(['namespace', 'purge', ...args, '--admin', url], {
      out: (text) => (out += text),
      err: (text) => (err += text),
    });
    return { code, out, err };
  }
  const part = (jobs: number, done: boolean, in_use = false): object => ({
    ...{ done, in_use, removed: { jobs, queues: 1, keys: 2 } },
  });

  it('only prints what is in the namespace without --yes', async () => {
    for (const args of [[], ['--dry-run'], ['--dry-run', '--yes']]) {
      answers = [{ dry_run: true, queues: 2, jobs: { ready: 10, dead: 1 } }];
      expect(await call('mail', '--pool', 'p', ...args)).toEqual({
        ...{ code: 0, out: 'queues  2\nready   10\ndead    1\n' },
        err: 'Nothing was changed. Run it again with --yes to do it.\n',
      });
    }
    expect(urls).toEqual(new Array(3).fill('DELETE /namespaces/mail?pool=p&dry_run=true'));
  });

  it('repeats its call until the server reports that the namespace is empty', async () => {
    answers = [part(100, false), part(20, false), part(3, true)];

    expect(await call('mail', '--yes')).toEqual({ code: 0, out: 'deleted 123 jobs in 3 queues\n', err: '' });
    expect(urls).toEqual(new Array(3).fill('DELETE /namespaces/mail'));
    answers = [part(1, true)];
    expect((await call('mail', '--yes', '--json')).out).toBe(
      '{"namespace":"mail","done":true,"in_use":false,"removed":{"jobs":1,"queues":1,"keys":2}}\n',
    );
    answers = [{ done: true, in_use: false, removed: { jobs: 0, queues: 0, keys: 0 } }];
    expect((await call('mail', '--yes')).out).toBe('Nothing was deleted.\n');
  });

  it('fails if the server reports that the namespace is in use', async () => {
    answers = [part(5, false, true)];
    const { code, out, err } = await call('mail', '--yes');

    expect({ code, out }).toEqual({ code: 1, out: 'deleted 5 jobs in 1 queue\n' });
    expect(err).toContain('the namespace is in use');
    expect(urls.length).toBe(1);
  });
});
