import { spawn } from 'node:child_process';
import { TestApp } from '../support/app.js';
import { waitFor } from '../support/redis.js';

const TRIES = 3;

/** A worker that dies of the job whose body is `poison`: it takes one job, and acknowledges any other. */
const WORKER = `
  const [url, token] = process.argv.slice(1);
  const headers = { 'X-Token': token };
  const answer = await fetch(url + '?ttr=1&timeout=5', { headers });
  if (answer.status !== 200) process.exit(2);
  const job = await answer.json();
  if (Buffer.from(job.data, 'base64').toString() === 'poison') process.kill(process.pid, 'SIGKILL');
  await fetch(url + '/job/' + job.job_id, { method: 'DELETE', headers });
`;

/** Runs a worker to its end. @returns the signal that killed it, or its exit code */
function work(url: string, token: string): Promise<string> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', WORKER, url, token], {
    stdio: 'ignore',
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve(signal ?? String(code)));
  });
}

describe('a job that kills its worker each time', () => {
  // Another server on the same store may be the one that buries it, and counts it.
  let app: TestApp;
  beforeAll(async () => ({ app } = await TestApp.alone()));
  afterAll(() => app.stop());

  it('is dead after three tries, with lease_expired as the reason, and blocks no other job', async () => {
    const id = await app.publish(`poisoned?tries=${String(TRIES)}`, 'poison');
    const url = `http://127.0.0.1:${String(app.port)}/api/${app.namespace}/poisoned`;
    for (let i = 1; i <= TRIES; i++) expect(await work(url, app.token)).toBe('SIGKILL');
    await waitFor(async () => (await app.engine.deadLetter.head(app.namespace, 'poisoned')).id === id, 5_000);

    expect(await app.get(`poisoned/job/${id}`)).toMatchObject({
      status: 200,
      json: { job_id: id, remain_tries: 0 },
      headers: {
        'x-job-state': 'dead',
        'x-job-attempts': String(TRIES),
        'x-job-dead-reason': 'lease_expired',
      },
    });
    expect((await app.admin('GET', '/metrics')).text).toMatch(
      /pumphouse_jobs_pumped_total\{pool="default",outcome="died"\} [1-9]/,
    );

    const other = await app.publish('poisoned?tries=1', 'food');
    expect(await work(url, app.token)).toBe('0');
    expect(await app.get(`poisoned/job/${other}`)).toMatchObject({ status: 404 });
    expect(await app.get('poisoned')).toMatchObject({ status: 404 });
    expect(await app.get(`poisoned/job/${id}`)).toMatchObject({
      headers: { 'x-job-attempts': String(TRIES) },
    });
  });

  it('is shown with the group of its failure if the native API failed it', async () => {
    const id = await app.publish('failed');
    const v1 = (path: string, json: object) =>
      app.call('POST', `/v1/${app.namespace}/${path}`, { body: JSON.stringify(json) });
    const { json } = await v1('leases', { queues: ['failed'] });
    const { lease } = (json as { jobs: { lease: number }[] }).jobs[0]!;
    await v1(`jobs/${id}/fail`, { lease, group: 'größe: 2%' });
    expect((await app.get(`failed/job/${id}`)).headers).toMatchObject({
      'x-job-state': 'dead',
      'x-job-dead-reason': encodeURI('größe: 2%'),
    });
  });

  it('is shown with state and attempts in headers before it dies', async () => {
    const id = await app.publish('living?tries=2');
    const state = async (): Promise<unknown> => {
      const { headers } = await app.get(`living/job/${id}`);
      return [headers['x-job-state'], headers['x-job-attempts'], headers['x-job-dead-reason']];
    };
    expect(await state()).toEqual(['ready', '0', undefined]);
    await app.get('living?ttr=60');
    expect(await state()).toEqual(['leased', '1', undefined]);
  });
});
