import { QueueError } from '../../src/domain/errors.js';
import type { Engine } from '../../src/engine/engine.js';
import { EngineJobs } from '../../packages/engine/src/jobs.js';
import { EngineFixture } from '../engine/fixture.js';

/** Calls in process whose first answer from Redis is lost, although the engine has done them. */
describe('a call in process whose first answer was lost', () => {
  let f: EngineFixture;
  let attempts: number;
  beforeEach(async () => {
    f = await EngineFixture.open();
    attempts = 0;
  });
  afterEach(() => f.close());

  /** Jobs of an engine one of whose calls loses its first answer. */
  const jobsLosing = (verb: 'cancel' | 'put' | 'remove'): EngineJobs => {
    const { jobs } = f.engine;
    const run = jobs[verb] as (...args: unknown[]) => Promise<unknown>;
    const losing = async (...args: unknown[]): Promise<unknown> => {
      const answer = await run(...args);
      attempts += 1;
      if (attempts === 1) throw new QueueError('pool_unavailable', 'the answer was lost');
      return answer;
    };
    const engine = Object.assign(Object.create(f.engine) as Engine, { jobs: { ...jobs, [verb]: losing } });
    return new EngineJobs(engine, f.ns);
  };

  it('has cancelled a job, and says so', async () => {
    const id = await f.publish('q');
    expect(await jobsLosing('cancel').cancel(id)).toEqual({
      ...{ id, outcome: 'already_cancelled', revokedAt: null },
    });
    await expect(jobsLosing('cancel').cancel(id)).rejects.toMatchObject({ code: 'job_not_found' });
  });

  it('has deleted a job, and ends as if it had done so now', async () => {
    const id = await f.publish('q');
    await expect(jobsLosing('remove').delete(id)).resolves.toBeUndefined();
    expect(attempts).toBe(1);
  });

  it('has put a job that a worker may have, and is not made again', async () => {
    const put = jobsLosing('put').put('order-1', { queue: 'q', data: 1 });
    await expect(put).rejects.toMatchObject({ code: 'pool_unavailable', retryable: true });
    expect(attempts).toBe(1);
  });
});
