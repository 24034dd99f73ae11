import { pathToFileURL } from 'node:url';
import { join } from 'node:path';
import { TestApp } from '../support/app.js';
import { codeIn, hasProgram, Project, ROOT } from '../support/packed.js';
import { waitFor } from '../support/redis.js';

const PAGE = 'docs/how-to/several-programs.md';
const CLIENT = pathToFileURL(join(ROOT, 'packages', 'client', 'dist', 'index.js')).href;
const LIMIT_MS = 120_000;
const JOBS = 20;
const whereThere = hasProgram('python3') ? it : it.skip;

describe('the page about several programs on one queue', () => {
  let app: TestApp;
  let project: Project;
  beforeAll(async () => {
    app = await TestApp.start();
    project = new Project();
  });
  afterAll(async () => {
    project.remove();
    await app.stop();
  });

  /** Languages of the workers that run. */
  async function languages(): Promise<Set<string>> {
    const { json } = await app.get(`/v1/${app.namespace}/workers`);
    return new Set((json as { items: { language: string }[] }).items.map(({ language }) => language));
  }

  /** The result of a job that one of the workers has done. */
  async function resized(): Promise<unknown> {
    const body = JSON.stringify({ queue: 'images', type: 'resize', data: { width: 640 } });
    const { json } = await app.call('POST', `/v1/${app.namespace}/jobs?wait_ms=60000`, { body });
    return (json as { result: { data: unknown } }).result.data;
  }

  /** The result of a job that only the worker in Python can do. */
  async function scanned(): Promise<unknown> {
    const body = JSON.stringify({ queue: 'images', type: 'scan', data: { pages: 2 } });
    const { json } = await app.call('POST', `/v1/${app.namespace}/jobs?wait_ms=60000`, { body });
    return (json as { result: { data: unknown } }).result.data;
  }

  whereThere(
    'has workers in two languages that share the jobs of a queue',
    async () => {
      const [javascript = ''] = codeIn(PAGE, 'js');
      const [python = ''] = codeIn(PAGE, 'python');
      project.write('worker.mjs', javascript.replace("'@pumphouse/client'", `'${CLIENT}'`));
      project.write('worker.py', python);
      const env = {
        PUMPHOUSE_URL: `http://127.0.0.1:${String(app.port)}`,
        PUMPHOUSE_NAMESPACE: app.namespace,
        PUMPHOUSE_TOKEN: app.token,
        PYTHONPATH: join(ROOT, 'packages', 'python', 'src'),
        PYTHONDONTWRITEBYTECODE: '1',
      };
      const [inJavaScript, inPython] = [
        [process.execPath, 'worker.mjs'],
        ['python3', 'worker.py'],
      ];
      const first = project.startProgram(inJavaScript, env);
      const second = project.startProgram(inPython, env);
      await waitFor(async () => (await languages()).size === 2, LIMIT_MS);

      for (let i = 0; i < JOBS; i++) {
        expect(await resized()).toMatchObject({ width: 320 });
        expect(await scanned()).toEqual({ by: 'Python', pages: 2 });
      }
      expect((await first.stop()).code).toBe(0);
      expect(await resized()).toEqual({ by: 'Python', width: 320 });
      const third = project.startProgram(inJavaScript, env);
      expect((await second.stop()).code).toBe(0);
      const left = { queue: 'images', id: 'left', type: 'scan', data: { pages: 1 } };
      await app.call('POST', `/v1/${app.namespace}/jobs`, { body: JSON.stringify(left) });
      expect(await resized()).toEqual({ by: 'JavaScript', width: 320 });
      expect((await third.stop()).code).toBe(0);
      const { json } = await app.get(`/v1/${app.namespace}/jobs/left`);
      expect(json).toMatchObject({ state: 'ready', attempts: 0, no_handler: null });
    },
    LIMIT_MS,
  );
});
