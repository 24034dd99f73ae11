/** Client and worker runtime of Pumphouse. This entry sends requests by `fetch`; Node.js gets `node.ts`. */
export { Pumphouse, type PumphouseOptions } from './pumphouse.js';
export { isPumphouseError, PumphouseError } from './errors.js';
export type { FieldError } from './field-names.js';
export {
  defineJob,
  type AnyJobDefinition,
  type GivesResult,
  type HandledAs,
  type JobDefinition,
  type JobDefinitionFields,
  type TakesInput,
} from './define-job.js';
export type { StandardSchema } from './standard-schema.js';
export {
  Producer,
  type InputOf,
  type Publishable,
  type PublishArgs,
  type PublishOptions,
  type ResultOf,
  type WaitOptions,
} from './producer/producer.js';
export { dataJson } from './producer/data-json.js';
export type { JobOptions, JobPayload, NewJob, RetryPolicy, UniqueKey } from './producer/new-job.js';
export type * from './producer/answers.js';
export type { DeadListFilter } from './producer/dead-letter.js';
export {
  untilEnded,
  type NewOperation,
  type Operation,
  type OperationAction,
  type OperationCalls,
  type OperationFilter,
  type WaitForOperation,
} from './producer/operations.js';
export type { EventOptions, PlacedEvent } from './producer/events.js';
export type * from './driver.js';
export { JobWithPayload, PAYLOAD_FORMS, type LeasedPayload } from './leased-payload.js';
export { checkNames, type Given, type Optional } from './optional.js';
export type { RetryLimits } from './transport/api-client.js';
export type { TlsOptions } from './transport/transport.js';
export { Worker, type WorkerOptions } from './worker/worker.js';
export type {
  Handler,
  HandlerContext,
  HandlerOf,
  HandlerOptions,
  Job,
  Middleware,
  Returned,
} from './worker/handlers.js';
export type { AbortCode } from './worker/held-job.js';
export type { Logger } from './worker/logger.js';
export { Bytes, Fail, Next, Release, Retry, type FailureOptions } from './worker/outcomes.js';
export { givenOptions } from './wire.js';
export { verify, WebhookError, type VerifyOptions, type WebhookHeaders } from './webhook.js';
