import type { ErrorCode } from '../../domain/errors.js';
import type { HttpCode } from './errors.v1.js';

/** What an error means, and what its receiver can do. Both are for docs/reference/errors.md; no answer has them. */
interface ErrorText {
  readonly about: string;
  readonly action: string;
}

const FIX = 'Correct the request; a repetition fails again.';
const LATER = 'Repeat the request after `Retry-After`.';

/** The text of each code: a new one fails the build until it has one. */
export const ERROR_TEXTS: Readonly<Record<ErrorCode | HttpCode, ErrorText>> = {
  bad_request: { about: 'The request is not valid HTTP, or its path cannot be decoded.', action: FIX },
  not_found: {
    about: 'There is no such call. `detail` names a path that looks like it.',
    action: 'Check the path: `/docs` lists them all.',
  },
  method_not_allowed: {
    about: 'The path does not support this method.',
    action: 'Use one of the methods in the header `Allow`.',
  },
  invalid_argument: {
    about: 'A field or a parameter breaks its rule. `errors` names up to 20 of them.',
    action: 'Correct the fields that `errors` names; a repetition fails again.',
  },
  pool_not_found: {
    about: 'The server has no pool with the name in the token.',
    action: 'Check the token, and `pools` in the configuration.',
  },
  job_not_found: {
    about: 'The job does not exist, no longer exists, or is in a queue that the token may not use.',
    action: 'If the job was acknowledged or its ttl is over, nothing is to be done.',
  },
  recurring_not_found: { about: 'There is no recurring job with this id.', action: 'Check the id.' },
  worker_not_found: {
    about: 'There is no worker with this name.',
    action: 'Check the name. A worker session ends when its worker stops.',
  },
  operation_not_found: {
    about: 'There is no operation with this id, or the token may not see it.',
    action: 'Check the id. Operations are kept for a week, the last 100 of a namespace.',
  },
  queue_not_found: { about: 'The queue does not exist.', action: 'Check the name, or publish a job to it.' },
  variable_not_found: { about: 'There is no variable with this name.', action: 'Check the name, or set it.' },
  target_not_found: { about: 'There is no push target with this name.', action: 'Check the name.' },
  job_exists: {
    about: 'A job with this id exists.',
    action: 'If the publish was repeated, nothing is to be done. Else choose another id.',
  },
  dependency_cycle: {
    about: 'The job would depend on itself.',
    action: 'Leave out one of the dependencies.',
  },
  too_many_dependencies: {
    about: 'The job would depend on too many jobs, or the check for a cycle would take too long.',
    action: 'Depend on fewer jobs.',
  },
  missing_dependency: {
    about:
      'A job that it would depend on does not exist, and the call has `on_missing_dependency: "refuse"`. `errors` names up to 20 of them.',
    action: 'Publish those jobs first, in the same call or before. A finished job exists while it is kept.',
  },
  has_dependents: {
    about: 'Other jobs depend on this one. `dependents` has some of their ids.',
    action: 'Cancel or delete those jobs too: a cancel with `cascade` does so.',
  },
  not_waiting: {
    about: 'The job is leased, done, dead or cancelled: only a job that waits can be changed.',
    action: 'Read the job again.',
  },
  job_done: {
    about: 'The job has ended: it cannot be cancelled or failed.',
    action: 'Nothing is to be done.',
  },
  due_unknown: {
    about: 'The change needs the due time of the job, which is not known.',
    action: 'Set `delay_ms` or `due_at` in the change.',
  },
  lease_lost: {
    about:
      'The lease is not the current one: the job was leased again, released or settled, revoked, or is gone. `state` is the current state of the job, `reason` is `revoked` after a revoke.',
    action: 'Stop working on the job. Another worker may have it.',
  },
  leased: {
    about: 'The job is leased by a worker.',
    action: 'Wait until the lease ends, or delete the job by force.',
  },
  not_leased: {
    about: 'The job has no lease that could be revoked. `state` is the current state of the job.',
    action: 'Nothing is to be done.',
  },
  unique_key_taken: {
    about: 'Another job holds the unique key. `holder_id` is its id, if the token may know it.',
    action: 'Usually nothing is to be done: the work is queued already.',
  },
  idempotency_key_reused: {
    about: 'The idempotency key was used with another request.',
    action: 'Use a new key for each request. This is a bug of the client.',
  },
  too_many_queues: {
    about: 'The namespace has reached its quota of queues.',
    action: 'Use fewer queues, or raise `limits.max_queues_per_namespace`.',
  },
  queue_full: {
    about: 'The queue has reached its quota of jobs.',
    action: `${LATER} Let consumers work, or raise \`limits.max_jobs_per_queue\`.`,
  },
  namespace_full: {
    about:
      'The namespace has reached a quota of what it may store: bytes, keys or workers. `detail` names the quota.',
    action: `${LATER} Let consumers work, or raise the quota.`,
  },
  too_many_operations: {
    about: 'Four operations of the namespace run.',
    action: `${LATER} Or stop one of them.`,
  },
  operation_running: {
    about: 'The operation runs: it can be undone when it has ended.',
    action: 'Stop it, or wait for its end.',
  },
  undo_gone: {
    about:
      'The operation cannot be undone: nothing is kept of the jobs that it has ended. `detail` says why.',
    action: 'Publish the jobs again. Start operations with `undo_ms` to be able to undo them.',
  },
  queue_draining: {
    about: 'The queue is being drained: it accepts no jobs until it is empty.',
    action: 'Publish later, or end the drain.',
  },
  queue_not_empty: {
    about: 'The queue has jobs: it cannot be deleted.',
    action: 'Purge the queue first.',
  },
  target_in_use: { about: 'A queue pushes to this target.', action: 'End the push of that queue first.' },
  push_disabled: { about: 'This server does not push.', action: 'Set `push.enabled = true`.' },
  push_key_mismatch: {
    about: 'The secrets of this target were encrypted with another `push.key_file`.',
    action:
      'Give all servers the same key file. If that key is lost, delete the target and create it again with a new secret.',
  },
  token_missing: {
    about: 'The request has no token.',
    action: 'Send a token in the header `X-Token`, or as `Authorization: Bearer`.',
  },
  token_invalid: {
    about: 'The token does not exist, has expired, or is of another namespace.',
    action: 'Use a token of the namespace in the path.',
  },
  verb_missing: {
    about: 'The token lacks the permission that the call needs.',
    action: 'Use a token with that permission.',
  },
  queue_not_allowed: {
    about: 'The token is not for this queue.',
    action: 'Use a token for the queue.',
  },
  role_missing: {
    about: 'The role of the account does not include this call. Only calls of the admin port have it.',
    action: 'Use an account with the role that `detail` names, or a token on the API port.',
  },
  namespace_not_found: {
    about:
      'The account is not for this namespace, or the name is wrong. Only calls of the admin port have it.',
    action: 'Check the name, and `namespaces` of the account in the configuration.',
  },
  rate_limited: {
    about: 'The token has used up its rate limit for this interval.',
    action: `${LATER} It is the end of the interval.`,
  },
  too_many_waiters: {
    about: 'The token has reached its limit of long polls in this process.',
    action: `${LATER} Or raise \`limits.max_waiters_per_token\`.`,
  },
  too_many_streams: {
    about: 'The token has reached its limit of event streams in this process.',
    action: `${LATER} Or raise \`events.max_streams_per_token\`.`,
  },
  uri_too_long: {
    about: 'The address is longer than `server.max_url_bytes`.',
    action: 'Name fewer things in one call, or raise the limit.',
  },
  headers_too_large: {
    about: 'The headers are longer than `server.max_header_bytes`, or more than 2,000 headers were sent.',
    action: 'Send fewer or shorter headers.',
  },
  coding_not_supported: {
    about: 'The body has a transfer coding besides `chunked`: `Transfer-Encoding: gzip, chunked`.',
    action:
      'Send the body without it. The server does not decode bodies; `Content-Encoding` is up to you and your workers.',
  },
  body_too_large: {
    about:
      'The body is larger than `limits.max_body_bytes` or `limits.max_bulk_bytes`. `detail` names the limit.',
    action: 'Send less, or raise the limit.',
  },
  store_full: {
    about:
      'Redis has reached its `maxmemory`, and the call adds data. What frees memory, stops load or serves stored jobs works.',
    action: 'Let consumers work, or cancel, purge or pause what fills it; then publish again.',
  },
  disk_full: { about: 'Redis cannot write to its disk.', action: `${LATER} The operator must free space.` },
  durability_unavailable: {
    about: 'The pool cannot provide the durability of this publish at the moment. Nothing was stored.',
    action: `${LATER} Or publish with less: \`X-Durability: memory\`.`,
  },
  not_replicated: {
    about: 'The jobs are stored, but their durability was not confirmed in time. Consumers may get them.',
    action: 'Repeat the request with the ids in the header `X-Job-ID`: they are stored once.',
  },
  format_too_old: {
    about:
      'The data format of this Redis is too old for the call: it has no leases by type, fair queues, strict order or pauses of some jobs.',
    action: 'Do without them, or have an operator run `pumphouse format raise`.',
  },
  older_servers: {
    about: 'Servers of an older version are connected to this Redis, or may be: its data format stays.',
    action: 'Stop them, then raise the format again.',
  },
  pool_moving: { about: 'The call is not possible while the pool moves to another Redis.', action: LATER },
  pool_unavailable: {
    about: 'Redis did not answer in time. A call that changes jobs may have taken effect.',
    action: `${LATER} Publishes with an \`Idempotency-Key\` are stored once.`,
  },
  overloaded: {
    about: 'The process has reached its limit of requests, long polls or connections. Nothing was done.',
    action: LATER,
  },
  shutting_down: { about: 'The server stops.', action: `${LATER} A new connection reaches another server.` },
  internal: {
    about: 'A bug of the server.',
    action: 'Report it. The log has the details under the `X-Request-Id` of the answer.',
  },
};
