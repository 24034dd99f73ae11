import {
  type BreakerSettings,
  isPumphouseError,
  type Target,
  type TargetAction,
  type TargetFields,
} from '@pumphouse/client';
import { Command, Option } from 'commander';
import { Refused } from '../admin-client.js';
import { showAll } from '../list.js';
import { breaker, duration, headers, known, list, pairs } from '../parse.js';
import { cell, fieldLines, json, printable } from '../print.js';
import { type OpenSession, secretOf, type Session } from '../session.js';

const HEADINGS = ['NAME', 'URL', 'STATE', 'BREAKER', 'QUEUES'];
const MAX_SUCCESS = 299;

/** `pumphouse target …` */
export function targetCommand(open: OpenSession): Command {
  return new Command('target')
    .description('targets of HTTP push: where the server sends jobs to')
    .addCommand(listCommand(open))
    .addCommand(showCommand(open))
    .addCommand(setCommand(open))
    .addCommand(testCommand(open))
    .addCommand(rotateCommand(open))
    .addCommand(pauseCommand(open, 'pause', 'stop sending jobs to it; running requests continue'))
    .addCommand(pauseCommand(open, 'resume', 'resume it, and close its circuit breaker'))
    .addCommand(removeCommand(open))
    .addHelpText(
      'after',
      `
Examples:
  pumphouse target set billing https://billing.example/hooks --header 'Authorization: Bearer abc'
  pumphouse queue set invoices 'push={"target":"billing"}'
  pumphouse target test billing
  pumphouse target rotate billing --keep-old 1h

A secret is printed only by the command that created it.`,
    );
}

function listCommand(open: OpenSession): Command {
  return new Command('ls')
    .description('list the targets by name')
    .action(async (_options: object, command: Command) => {
      const session = open(command);
      showAll(session, await session.client.targets.list(), { headings: HEADINGS, rowOf: targetRow });
    });
}

function targetRow({ name, url, pausedAt, pauseReason, breaker, queues }: Target): string[] {
  const state = pausedAt === null ? 'active' : `paused (${cell(pauseReason)})`;
  return [name, url, state, breaker.state, cell(queues)];
}

function showCommand(open: OpenSession): Command {
  return new Command('show')
    .description('show a target; its secret and the values of its headers are never shown')
    .argument('<name>')
    .action(async (name: string, _options: object, command: Command) => {
      const session = open(command);
      showTarget(session, await session.client.targets.get(name));
    });
}

function showTarget({ isJson, out }: Session, target: Target): void {
  out(isJson ? json(target) : fieldLines(target));
}

interface SetOptions {
  readonly header?: Readonly<Record<string, string>>;
  readonly method?: 'POST' | 'PUT' | 'PATCH';
  readonly requestTimeout?: number;
  readonly body?: 'raw' | 'job';
  readonly ack?: 'response' | 'later';
  readonly origins?: readonly string[];
  readonly sign?: 'standard' | 'none';
  readonly onStatus?: Readonly<Record<string, string>>;
  readonly maxRetryAfter?: number;
  readonly breaker?: Partial<BreakerSettings> | 'off';
  readonly secret?: string;
}

function setCommand(open: OpenSession): Command {
  return new Command('set')
    .description('create a target, or change one: omitted options keep their values')
    .argument('<name>')
    .argument('[url]', 'where requests are sent; required for a new target')
    .option('--header <header>', "'Name: value'; may be given again; replaces all headers", headers)
    .addOption(new Option('--method <method>', 'the HTTP method').choices(['POST', 'PUT', 'PATCH']))
    .option('--request-timeout <time>', 'how long a request may take: 1s to 10m', duration)
    .addOption(
      new Option('--body <kind>', 'raw: the bytes of the job; job: a JSON object').choices(['raw', 'job']),
    )
    .addOption(
      new Option(
        '--ack <when>',
        'response: an answer 2xx acknowledges the job; later: a call of the target does',
      ).choices(['response', 'later']),
    )
    .option('--origins <urls>', 'origins of the URLs that jobs may name, separated by commas', list)
    .addOption(
      new Option('--sign <how>', 'sign requests by Standard Webhooks, or not').choices(['standard', 'none']),
    )
    .option('--on-status <status=action>', '404=fail, 4xx=retry; may be given again; replaces all', pairs)
    .option('--max-retry-after <time>', 'the longest delay that Retry-After may ask for', duration)
    .option(
      '--breaker <settings>',
      'off, or failures=5,failure-percent=50,min-requests=10,open=30s,max-open=5m',
      breaker,
    )
    .option('--secret <secret>', 'the secret for signatures; @FILE reads it from a file (default: generated)')
    .action(async (name: string, url: string | undefined, options: SetOptions, command: Command) => {
      const session = open(command);
      showTarget(session, await setTarget(session, name, url, fieldsOf(url, options)));
    });
}

function fieldsOf(url: string | undefined, options: SetOptions): TargetFields {
  const { header, method, requestTimeout, body, ack, origins, sign, onStatus, maxRetryAfter, secret } =
    options;
  return known({
    ...{ url, origins, method, headers: header, timeoutMs: requestTimeout, body, ack, sign },
    onStatus: onStatus as Readonly<Record<string, TargetAction>> | undefined,
    maxRetryAfterMs: maxRetryAfter,
    breaker: options.breaker === 'off' ? null : options.breaker,
    secret: secret === undefined ? undefined : secretOf(secret, 'the secret'),
  });
}

async function setTarget(
  { client }: Session,
  name: string,
  url: string | undefined,
  fields: TargetFields,
): Promise<Target> {
  try {
    return await client.targets.patch(name, fields);
  } catch (error) {
    if (!isPumphouseError(error, 'target_not_found') || url === undefined) throw error;
    return client.targets.put(name, { ...fields, url });
  }
}

function testCommand(open: OpenSession): Command {
  return new Command('test')
    .description('send one test request, and show the answer; exits with 1 if it is not a success')
    .argument('<name>')
    .action(async (name: string, _options: object, command: Command) => {
      const { client, isJson, out } = open(command);
      const result = await client.targets.test(name);
      out(isJson ? json(result) : fieldLines(result));
      const { status, problem, message } = result;
      if (status === null) throw new Refused(`no answer: ${cell(problem)}: ${cell(message)}`, 0);
      if (status > MAX_SUCCESS) throw new Refused(`the target answers ${String(status)}`, status);
    });
}

function rotateCommand(open: OpenSession): Command {
  return new Command('rotate')
    .description('create a new secret for a target, and print it')
    .argument('<name>')
    .option(
      '--keep-old <time>',
      'how long requests are signed with the old secret too (default: 1d)',
      duration,
    )
    .option('--secret <secret>', 'the new secret; @FILE reads it from a file')
    .action(async (name: string, options: { keepOld?: number; secret?: string }, command: Command) => {
      const { client, isJson, out } = open(command);
      const { keepOld, secret } = options;
      const rotated = await client.targets.rotate(name, {
        ...(keepOld === undefined ? {} : { keepOldMs: keepOld }),
        ...(secret === undefined ? {} : { secret: secretOf(secret, 'the secret') }),
      });
      out(isJson ? json(rotated) : `${printable(cell(rotated.secret))}\n`);
    });
}

function pauseCommand(open: OpenSession, what: 'pause' | 'resume', description: string): Command {
  return new Command(what)
    .description(description)
    .argument('<name>')
    .action(async (name: string, _options: object, command: Command) => {
      const { client, isJson, out } = open(command);
      const changed = await client.targets[what](name);
      out(isJson ? json(changed) : `${what}d ${printable(name)}\n`);
    });
}

function removeCommand(open: OpenSession): Command {
  return new Command('rm')
    .description('delete a target to which no queue is pushed')
    .argument('<name>')
    .action(async (name: string, _options: object, command: Command) => {
      const { client, isJson, out } = open(command);
      await client.targets.delete(name);
      out(isJson ? json({ deleted: name }) : `deleted ${printable(name)}\n`);
    });
}
