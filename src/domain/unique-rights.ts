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

/** What an engine call needs to know that names dependencies. */
export interface ResultRights {
  /** Patterns of queue names: the job gets results only of dependencies that are in such a queue when it reads them. */
  readonly resultsOf?: readonly string[];
}

/** @returns the rights for calls that name dependencies */
export function resultRightsOf(rights: Rights | null): ResultRights {
  const queues = rights?.queues ?? null;
  return queues === null ? {} : /* guard: results-within-rights */ { resultsOf: queues };
}

/**
 * Restricts a job to what a token may publish. A unique key is valid in the whole namespace: with a token for some
 * queues it must neither change a job of another queue nor reveal it.
 *
 * @throws {QueueError} `verb_missing`: it names the URL it is pushed to
 */
export function withinRights<
  T extends {
    readonly unique?: UniqueKey;
    readonly attributes?: Readonly<Record<string, string>>;
    readonly dependsOn?: readonly string[];
  },
>(rights: Rights | null, job: T): T {
  checkPushUrl(rights, job);
  if (rights === null) return job;
  const given = job.dependsOn === undefined ? job : { ...job, ...resultRightsOf(rights) };
  if (job.unique === undefined) return given;
  const ofQueues = rights.queues === null ? {} : { isOwnQueueOnly: true };
  return { ...given, unique: { ...job.unique, ...ofQueues, ...pushRightsOf(rights) } };
}
