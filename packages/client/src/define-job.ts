import { PumphouseError } from './errors.js';
import type { JobOptions } from './producer/new-job.js';
import { issuesText, type StandardSchema } from './standard-schema.js';

/** What `defineJob` takes. Options are those of each publish, which may give others. */
export interface JobDefinitionFields<In, Out, InParsed, OutParsed> extends Omit<JobOptions, 'id' | 'runAt'> {
  readonly queue: string;
  /** What kind of work it is: tells the kinds of one queue apart. Jobs without a type are the cheapest. */
  readonly type?: string | undefined;
  /** Checked when a job is published, and again before its handler runs. */
  readonly input?: StandardSchema<In, InParsed> | undefined;
  /** Checked when the handler has returned, and again by `publishAndWait`. */
  readonly output?: StandardSchema<Out, OutParsed> | undefined;
}

/**
 * A kind of job, for producers and workers. `In`: what a producer gives; `Out`: what the handler returns. A schema may
 * change them: `InParsed` is what the handler gets, `OutParsed` what `publishAndWait` gives.
 */
export interface JobDefinition<In = unknown, Out = unknown, InParsed = In, OutParsed = Out> {
  readonly queue: string;
  readonly type: string | undefined;
  readonly input: StandardSchema<In, InParsed> | undefined;
  readonly output: StandardSchema<Out, OutParsed> | undefined;
  readonly options: JobOptions;
}

/** A definition of any types. */
export interface AnyJobDefinition {
  readonly queue: string;
  readonly type: string | undefined;
  readonly input: StandardSchema | undefined;
  readonly output: StandardSchema | undefined;
  readonly options: JobOptions;
}

/** A definition of whose types only the one counts that a producer gives. */
export interface TakesInput<In> extends AnyJobDefinition {
  readonly input: StandardSchema<In, unknown> | undefined;
}

/** A definition of whose types only the one counts that `publishAndWait` gives. */
export interface GivesResult<OutParsed> extends AnyJobDefinition {
  readonly output: StandardSchema<unknown, OutParsed> | undefined;
}

/** A definition of whose types only those count that a handler gets and returns. */
export interface HandledAs<InParsed, Out> extends AnyJobDefinition {
  readonly input: StandardSchema<unknown, InParsed> | undefined;
  readonly output: StandardSchema<Out, unknown> | undefined;
}

/**
 * Defines a kind of job once, for its producer and its worker. The types come from the schemas; without schemas, from
 * `defineJob<Input, Result>`.
 */
export function defineJob<In = unknown, Out = unknown, InParsed = In, OutParsed = Out>(
  fields: JobDefinitionFields<In, Out, InParsed, OutParsed>,
): JobDefinition<In, Out, InParsed, OutParsed> {
  const { queue, type, input, output, ...options } = fields;
  return Object.freeze({ queue, type, input, output, options });
}

/** @throws {PumphouseError} with `code`: the schema refuses the value */
export async function validate<Output>(
  schema: StandardSchema<unknown, Output>,
  value: unknown,
  code: 'invalid_input' | 'invalid_output',
): Promise<Output> {
  const outcome = schema['~standard'].validate(value);
  const result = outcome instanceof Promise ? await outcome : outcome;
  if (result.issues !== undefined) throw new PumphouseError(code, issuesText(result.issues));
  return result.value;
}
