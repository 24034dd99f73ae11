import { type Explanation, PumphouseError } from '@pumphouse/client';
import { Command } from 'commander';
import { json, printable } from '../print.js';
import type { OpenSession, Session } from '../session.js';

/** `pumphouse why` */
export function whyCommand(open: OpenSession): Command {
  return new Command('why')
    .description('say why a job does not run, or why a queue gives no jobs')
    .argument('<job-or-queue>', 'the id of a job; or the name of a queue, if there is no such job')
    .option('--queue', 'it is the name of a queue')
    .action(async (name: string, { queue = false }: { queue?: boolean }, command: Command) => {
      const session = open(command);
      const explanation = queue ? await session.client.queues.explain(name) : await explain(session, name);
      session.out(session.isJson ? json(explanation) : textOf(explanation));
    });
}

/** Of the job with the id, or else of the queue with the name if there is one. */
async function explain({ client }: Session, name: string): Promise<Explanation> {
  try {
    return await client.jobs.explain(name);
  } catch (error) {
    if (!(error instanceof PumphouseError) || error.code !== 'job_not_found') throw error;
    const isQueue = await client.queues.get(name).then(
      ({ exists }) => exists,
      () => false,
    );
    if (!isQueue) throw error;
    return client.queues.explain(name);
  }
}

function textOf({ cause, message, since, nextAt, remedies, also }: Explanation): string {
  const lines = [`${cause}: ${message}`];
  if (since !== null) lines.push(`since: ${since}`);
  if (nextAt !== null) lines.push(`next:  ${nextAt}`);
  for (const remedy of remedies) lines.push(`to ${remedy.about}:`, `  ${remedy.command ?? remedy.call}`);
  for (const other of also) lines.push(`also ${other.cause}: ${other.message}`);
  return lines.map((line) => `${printable(line)}\n`).join('');
}
