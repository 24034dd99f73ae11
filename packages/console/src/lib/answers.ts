import { count } from './format.js';
import type { Call } from './lines.js';

/* How many jobs a call has changed, by its answer. */

/** The answer of a purge: jobs by state. A call takes a few seconds at most; the same call goes on. */
export interface Purged {
  readonly jobs: Readonly<Record<string, number>>;
  readonly complete: boolean;
}

/** Jobs that an answer counts; undefined: it counts none. */
function jobsIn(body: unknown): number | undefined {
  const { jobs, complete } = (body ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof jobs === 'number') return jobs;
  if (typeof complete !== 'boolean') return undefined;
  return Object.values((body as Purged).jobs).reduce((sum, one) => sum + one, 0);
}

/** Counts the jobs of a call that may have to be repeated until it is complete. */
export function callCounter() {
  let before = 0;
  return {
    /** Jobs of all answers so far, this one included; undefined: it counts none. */
    sum: (body: unknown): number | undefined => {
      const jobs = jobsIn(body);
      return jobs === undefined ? undefined : before + jobs;
    },
    /** The same call, if the answer wants it again. */
    more: ({ body }: { readonly body: unknown }, last: Call): Call | undefined => {
      if ((body as Partial<Purged> | undefined)?.complete !== false) return undefined;
      before += jobsIn(body) ?? 0;
      return last;
    },
  };
}

/** What a remedy did. @param jobs that it has changed; undefined: its answer counts none */
export function remedyText(about: string, jobs: number | undefined): string {
  if (jobs === undefined) return `Done: ${about}.`;
  if (jobs === 0) return 'Nothing was changed: the call found no job that it could change.';
  return `Done for ${count(jobs)} ${jobs === 1 ? 'job' : 'jobs'}: ${about}.`;
}
