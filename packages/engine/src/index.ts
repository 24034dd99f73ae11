/** The producer and the worker of `@pumphouse/client` over Redis alone: no server, no HTTP. */
export { connect, EnginePumphouse, type ConnectOptions } from './connect.js';
export { EngineDriver } from './engine-driver.js';
export type { EngineDeadLetter } from './dead-letter.js';
export type { EngineJobs } from './jobs.js';
export type { EngineQueues } from './queues.js';
export type { EngineRecurring } from './recurring.js';
export type { EngineStats } from './stats.js';
export type { EngineWorkers } from './workers.js';
export * from '@pumphouse/client';
