import { type Explanation, isPumphouseError, PumphouseError } from '@pumphouse/client';
import { Command } from 'commander';
import { json, printable, quoted } from '../print.js';
import type { OpenSession, Session } from '../session.js';

interface WhyOptions {
  readonly queue?: boolean;
  readonly recurring?: boolean;
}

const LEFT =
  'A job that was acknowledged, deleted or replaced, or has expired, leaves no record without retention_ms';

/** `pumphouse why` */
export function whyCommand(open: OpenSession): Command {
  return new Command('why')
    .description('say why a job does not run, a queue gives no jobs, or a recurring job makes none')
    .argument('<name>', 'the id of a job; if there is none, of a recurring job; or the name of a queue')
    .option('--queue', 'it is the name of a queue')
    .option('--recurring', 'it is the id of a recurring job')
    .action(async (name: string, options: WhyOptions, command: Command) => {
      const session = open(command);
      const explanation = await explain(session, name, options);
      session.out(session.isJson ? json(explanation) : textOf(explanation, session.repeated));
    });
}

function explain(
  { client }: Session,
  name: string,
  { queue = false, recurring = false }: WhyOptions,
): Promise<Explanation> {
  if (queue) return client.queues.explain(name);
  if (recurring) return client.recurring.explain(name);
  return findAndExplain(client, name);
}

/** The first that there is: a job, a recurring job, or a queue. */
async function findAndExplain(client: Session['client'], name: string): Promise<Explanation> {
  try {
    return await client.jobs.explain(name);
  } catch (error) {
    if (!isPumphouseError(error, 'job_not_found')) throw error;
    const found = await ifSeen(client.recurring.explain(name));
    if (found !== null) return found;
    const queue = await ifSeen(client.queues.get(name));
    if (queue?.exists === true) return client.queues.explain(name);
    throw new PumphouseError(
      'job_not_found',
      `no job, recurring job or queue has the name ${name}. ${LEFT}`,
      {
        ...{ status: error.status, requestId: error.requestId },
      },
    );
  }
}

/** Null: there is none, or the token may not see it. */
async function ifSeen<T>(call: Promise<T>): Promise<T | null> {
  return call.catch((error: unknown) => {
    if (error instanceof PumphouseError && !error.retryable) return null;
    throw error;
  });
}

/** @param repeated what a command needs besides to reach the same server */
function textOf(
  { cause, message, since, nextAt, remedies, also }: Explanation,
  repeated: readonly string[],
): string {
  const behind = repeated.map((one) => ` ${quoted(one)}`).join('');
  const lines = [`${cause}: ${message}`];
  if (since !== null) lines.push(`since: ${since}`);
  if (nextAt !== null) lines.push(`next:  ${nextAt}`);
  for (const { about, call, command } of remedies)
    lines.push(`to ${about}:`, `  ${command === null ? call : command + behind}`);
  for (const other of also) lines.push(`also ${other.cause}: ${other.message}`);
  return lines.map((line) => `${printable(line)}\n`).join('');
}
