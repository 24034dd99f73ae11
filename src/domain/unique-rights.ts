import type { UniqueKey } from './job/extended-job.js';
import { PUSH_URL } from './push-url.js';
import { checkVerb, type Rights } from './rights.js';

/**
 * Also for a change of what another caller has published, or a repeat of it.
 *
 * @throws {QueueError} `verb_missing`: the job names the URL that it is pushed to
 */
export function checkPushUrl(
  rights: Rights | null,
  { attributes }: { readonly attributes?: Readonly<Record<string, string>> | null | undefined },
): void {
  // guard: job-url-needs-permission
  if (Object.hasOwn(attributes ?? {}, PUSH_URL)) checkVerb(rights, 'push');
}

/** What an engine call needs to know that may change the data or the queue of a job with a URL of its own. */
export interface PushRights {
  /** The caller lacks the permission `push`: then the call is refused for such a job. */
  readonly withoutPush?: true;
}

/** @returns the rights for calls that may change the data or the queue of a job */
export function pushRightsOf(rights: Rights | null): PushRights {
  return rights === null || rights.verbs.includes('push') ? {} : { withoutPush: true };
}

/**
 * Restricts a job to what a token may publish. A unique key is valid in the whole namespace: with a token for some
 * queues it must neither change a job of another queue nor reveal it.
 *
 * @throws {QueueError} `verb_missing`: it names the URL it is pushed to
 */
export function withinRights<
  T extends { readonly unique?: UniqueKey; readonly attributes?: Readonly<Record<string, string>> },
>(rights: Rights | null, job: T): T {
  checkPushUrl(rights, job);
  if (rights === null || job.unique === undefined) return job;
  const ofQueues = rights.queues === null ? {} : { isOwnQueueOnly: true };
  return { ...job, unique: { ...job.unique, ...ofQueues, ...pushRightsOf(rights) } };
}
