import type { Remedy } from '../../contract/explain.js';
import type { SomeJobs } from '../../contract/queue-settings.js';

/** As one word of a shell, whatever is in it. */
const inShell = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

export type Remedies = ReturnType<typeof remediesOf>;

/** The calls that remove causes, for the jobs and queues of a namespace. */
export function remediesOf(namespace: string) {
  const remedy = (
    about: string,
    [method, path, body]: readonly [method: string, path: string, body?: object],
    command: string | null,
  ): Remedy => ({
    about,
    call: `${method} /v1/${namespace}${path}${body === undefined ? '' : ` ${JSON.stringify(body)}`}`,
    command: command === null ? null : `pumphouse ${command} --namespace ${namespace}`,
  });
  return {
    runNow: (id: string) =>
      remedy('make it due now', ['PATCH', `/jobs/${id}`, { delay_ms: 0 }], `job set ${id} --delay 0s`),
    cancel: (id: string) => remedy('cancel it', ['POST', `/jobs/${id}/cancel`], `job cancel ${id}`),
    dropDependencies: (id: string) =>
      remedy(
        'run it without its dependencies',
        ['PATCH', `/jobs/${id}`, { depends_on: [] }],
        `job set ${id} --depends-on ''`,
      ),
    revoke: (id: string) =>
      remedy(
        'take the lease away: the job returns to its queue',
        ['POST', `/jobs/${id}/revoke`],
        `job revoke ${id}`,
      ),
    respawn: (id: string) =>
      remedy('run it again', ['POST', '/dead-letter/respawn', { ids: [id] }], `job retry ${id}`),
    respawnNeeded: (ids: readonly string[]) =>
      remedy(
        `run the dead ${ids.length === 1 ? 'job' : 'jobs'} again that it waits for`,
        ['POST', '/dead-letter/respawn', { ids }],
        `job retry ${ids.join(' ')}`,
      ),
    resume: (queue: string) =>
      remedy('resume the queue', ['POST', `/queues/${queue}/resume`], `queue resume ${queue}`),
    /** @param jobs as the field names of the engine have them */
    resumeSome: (queue: string, { type, fairKey, concurrencyKey }: SomeJobs) => {
      const [name, key]: [string, string | null] =
        fairKey !== undefined
          ? ['fair_key', fairKey]
          : concurrencyKey !== undefined
            ? ['concurrency_key', concurrencyKey]
            : ['type', type ?? null];
      return remedy(
        'resume these jobs',
        ['POST', `/queues/${queue}/resume`, { [name]: key }],
        `queue resume ${queue} --${name.replaceAll('_', '-')} ${inShell(key ?? '')}`,
      );
    },
    withoutLimit: (queue: string, setting: 'max_running' | 'max_running_per_key' | 'rate' | 'rate_per_key') =>
      remedy(
        `remove the limit ${setting} of the queue`,
        ['PATCH', `/queues/${queue}`, { [setting]: null }],
        `queue set ${queue} ${setting}=null`,
      ),
    withoutOrder: (queue: string) =>
      remedy(
        'end the strict order of the queue: jobs of a key run in any order, and several at once',
        ['PATCH', `/queues/${queue}`, { order: null }],
        `queue set ${queue} order=null`,
      ),
    lease: (queue: string) =>
      remedy(
        'start a worker of the queue; this call leases one job',
        ['POST', '/leases', { queues: [queue], ttr_ms: 60_000 }],
        null,
      ),
    leaseWithHandler: (queue: string) =>
      remedy(
        'start a worker that has a handler for such jobs; this call leases a job without one',
        ['POST', '/leases', { queues: [queue], ttr_ms: 60_000 }],
        null,
      ),
    publish: (queue: string) =>
      remedy('publish a job', ['POST', '/jobs', { queue }], `job publish ${queue} {}`),
    purgeEnded: (queue: string) =>
      remedy(
        'delete the jobs that ended and that the queue keeps',
        ['POST', `/queues/${queue}/purge`, { states: ['done', 'cancelled'] }],
        `queue purge ${queue} --state done,cancelled --yes`,
      ),
    resumeRecurring: (id: string) =>
      remedy('resume the recurring job', ['POST', `/recurring/${id}/resume`], `recurring resume ${id}`),
    runRecurring: (id: string) =>
      remedy(
        'make a job now, outside of the schedule',
        ['POST', `/recurring/${id}/run`],
        `recurring run ${id}`,
      ),
    /** Also closes its circuit breakers. */
    resumeTarget: (target: string) =>
      remedy(
        'resume the target: jobs are sent to it at once',
        ['POST', `/targets/${target}/resume`],
        `target resume ${target}`,
      ),
    stopPush: (queue: string) =>
      remedy(
        'end the push, so that workers can lease its jobs',
        ['PATCH', `/queues/${queue}`, { push: null }],
        `queue set ${queue} push=null`,
      ),
  };
}
