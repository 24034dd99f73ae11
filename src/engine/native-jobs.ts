import type { JobDetails } from '../domain/job/extended-job.js';
import type { JobCanceller } from './jobs/job-canceller.js';
import type { JobUpdater } from './jobs/job-updater.js';
import type { ExtendedPath } from './extended-path.js';
import type { JobReader } from './jobs/job-reader.js';
import type { LeaseOperations } from './settle/lease-operations.js';
import type { ExtendedPublisher } from './publish/extended-publisher.js';
import { publishNative, type SimplePublishing } from './routing.js';

/** Operations of the native API on single jobs. All of them keep working during a pool migration. */
export interface NativeJobs
  extends
    Pick<ExtendedPublisher, 'publish' | 'put'>,
    Pick<
      LeaseOperations,
      'complete' | 'heartbeat' | 'heartbeatMany' | 'release' | 'retry' | 'fail' | 'revoke'
    >,
    Pick<JobReader, 'find' | 'placesOf'>,
    Pick<JobCanceller, 'cancel' | 'cancelMany' | 'remove'>,
    Pick<JobUpdater, 'change' | 'log'> {
  /**
   * Waits until a job is done, dead, cancelled or deleted; at most `waitMs`.
   *
   * @returns all details of the job then; null if it is deleted
   */
  waitForEnd(namespace: string, id: string, waitMs: number, signal: AbortSignal): Promise<JobDetails | null>;
}

/** The operations of one pool. */
export function nativeJobsOf(extended: ExtendedPath, simple: SimplePublishing): NativeJobs {
  const { publishing, leaseOperations, jobReader, jobCanceller, jobUpdater, endWatch } = extended;
  return {
    publish: (...args) => publishNative(simple, publishing, ...args),
    put: (...args) => publishing.put(...args),
    complete: (...args) => leaseOperations.complete(...args),
    heartbeat: (...args) => leaseOperations.heartbeat(...args),
    heartbeatMany: (...args) => leaseOperations.heartbeatMany(...args),
    release: (...args) => leaseOperations.release(...args),
    retry: (...args) => leaseOperations.retry(...args),
    fail: (...args) => leaseOperations.fail(...args),
    revoke: (...args) => leaseOperations.revoke(...args),
    find: (...args) => jobReader.find(...args),
    placesOf: (...args) => jobReader.placesOf(...args),
    cancel: (...args) => jobCanceller.cancel(...args),
    cancelMany: (...args) => jobCanceller.cancelMany(...args),
    remove: (...args) => jobCanceller.remove(...args),
    change: (...args) => jobUpdater.change(...args),
    log: (...args) => jobUpdater.log(...args),
    waitForEnd: async (namespace, id, waitMs, signal) => {
      await endWatch.wait(namespace, id, waitMs, signal);
      return jobReader.find(namespace, id);
    },
  };
}
