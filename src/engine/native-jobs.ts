import type { JobDetails } from '../domain/rich-job.js';
import type { Cancelling } from './full/cancelling.js';
import type { Changing } from './full/changing.js';
import type { FullLane } from './full/full-lane.js';
import type { Looking } from './full/looking.js';
import type { Owners } from './full/owners.js';
import type { FullPublishing } from './full/publishing.js';

/** What the native API asks of single jobs, wherever they are: all of it goes on while a pool moves. */
export interface NativeJobs
  extends
    Pick<FullPublishing, 'publish'>,
    Pick<Owners, 'complete' | 'heartbeat' | 'release' | 'retry' | 'fail'>,
    Pick<Looking, 'find'>,
    Pick<Cancelling, 'cancel'>,
    Pick<Changing, 'change' | 'log'> {
  /**
   * Waits for the end of a job: until it is done, dead, cancelled or gone; at most `waitMs`, below 2^31.
   *
   * @returns all that is known of it then; null if it is gone
   */
  waitForEnd(namespace: string, id: string, waitMs: number, signal: AbortSignal): Promise<JobDetails | null>;
}

/** Those of one pool. */
export function nativeJobsOf(lane: FullLane): NativeJobs {
  const { publishing, owners, looking, cancelling, changing, endWatch } = lane;
  return {
    publish: (...asked) => publishing.publish(...asked),
    complete: (...asked) => owners.complete(...asked),
    heartbeat: (...asked) => owners.heartbeat(...asked),
    release: (...asked) => owners.release(...asked),
    retry: (...asked) => owners.retry(...asked),
    fail: (...asked) => owners.fail(...asked),
    find: (...asked) => looking.find(...asked),
    cancel: (...asked) => cancelling.cancel(...asked),
    change: (...asked) => changing.change(...asked),
    log: (...asked) => changing.log(...asked),
    waitForEnd: async (namespace, id, waitMs, signal) => {
      await endWatch.wait(namespace, id, waitMs, signal);
      return looking.find(namespace, id);
    },
  };
}
