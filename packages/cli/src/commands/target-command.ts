import { isPumphouseError, type Target, type TargetFields } from '@pumphouse/client';
import { Command } from 'commander';
import { omit } from '#src/contract/fields/derived';
import { BreakerFields, RotateFields, TargetChangeFields } from '#src/contract/targets';
import { Refused } from '../admin-client.js';
import { FieldFlags, fieldsIn } from '../flags.js';
import { showAll } from '../list.js';
import { headers, known } from '../parse.js';
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

/** A flag for each field of a target. `--timeout` is that of the calls of this program. */
const TARGET = new FieldFlags(omit(TargetChangeFields, ['url']), {
  headers: {
    ...{ flag: '--header <header>', parse: headers },
    about: "'Name: value' of each request (may be given again); replaces all headers",
  },
  timeout_ms: {
    flag: '--request-timeout <time>',
    about: 'how long a request may take: 1s to 10m (default: 30s)',
  },
  body: { about: 'raw (default): the bytes of the job; job: a JSON object' },
  ack: { about: 'response (default): an answer 2xx acknowledges the job; later: a call of the target does' },
  sign: { about: 'sign requests by Standard Webhooks (default), or not' },
  on_status: { flag: '--on-status <status=action>' },
  breaker: {
    ...{ flag: '--breaker <settings>', parse: breaker },
    about: 'off, or failures=5,failure-percent=50,min-requests=10,open=30s,max-open=5m',
  },
  secret: {
    about: 'the secret for signatures; @FILE reads it from a file (default: generated)',
    parse: secretIn,
  },
});
const ROTATE = new FieldFlags(RotateFields, {
  secret: { about: 'the new secret; @FILE reads it from a file', parse: secretIn },
});

function secretIn(text: string): string {
  return secretOf(text, 'the secret');
}

/** `failures=3,open=10s`; null for `off`. */
function breaker(text: string): object | null {
  return text === 'off' ? null : fieldsIn(BreakerFields, text);
}

function setCommand(open: OpenSession): Command {
  const command = new Command('set')
    .description('create a target, or change one: omitted options keep their values')
    .argument('<name>')
    .argument('[url]', 'where requests are sent; required for a new target');
  return TARGET.addTo(command).action(
    async (name: string, url: string | undefined, options: object, self: Command) => {
      const session = open(self);
      const fields = { ...known({ url }), ...(TARGET.given(options) as TargetFields) };
      showTarget(session, await setTarget(session, name, url, fields));
    },
  );
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
  const command = new Command('rotate')
    .description('create a new secret for a target, and print it')
    .argument('<name>');
  return ROTATE.addTo(command).action(async (name: string, options: object, self: Command) => {
    const { client, isJson, out } = open(self);
    const rotated = await client.targets.rotate(name, ROTATE.given(options));
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
