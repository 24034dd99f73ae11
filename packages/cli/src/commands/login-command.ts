import { Command } from 'commander';
import { addressOf, AdminClient } from '../admin-client.js';
import { type Context, contextFile, deleteContext, writeContext } from '../context.js';
import { textIn, typedSecret } from '../input.js';
import { json, type Output, printable } from '../print.js';
import {
  accountOf,
  DEFAULT_TIMEOUT_S,
  filesOf,
  givenOptions,
  pumphouseOf,
  secretOf,
  tlsOf,
  tokenOf,
  usualUrl,
  withConnectionOptions,
} from '../session.js';

/** `pumphouse login` */
export function loginCommand(output: Output): Command {
  const command = new Command('login')
    .description('check a token, and store it with the address of its server for later commands')
    .addHelpText(
      'after',
      `
Examples:
  pumphouse login --url https://queue.example.com --namespace mail    # asks for the token
  pumphouse login --namespace mail --token @token.txt
  pumphouse login --namespace mail --admin http://10.0.0.5:7778 --account @account.txt < token.txt
  pumphouse login --url https://10.0.0.5:7777 --ca ca.pem --namespace mail

The file is $XDG_CONFIG_HOME/pumphouse/context.json, by default ~/.config/pumphouse/context.json.
Only your user can read it.`,
    );
  withConnectionOptions(command);
  return command.action(async (_options: object, self: Command) => {
    const context = await checkedContext(self, output);
    const file = writeContext(contextFile(givenOptions(self).configHome), context);
    const { url = '', namespace = '' } = context;
    const isJson = givenOptions(self).json === true;
    const shown = { file, url, namespace, admin: context.admin ?? null };
    output.out(isJson ? json(shown) : printable(`logged in to ${url}, namespace ${namespace}`) + '\n');
  });
}

async function checkedContext(command: Command, output: Output): Promise<Context> {
  const given = givenOptions(command);
  const { url = usualUrl(given), namespace, token, admin, account, timeout = DEFAULT_TIMEOUT_S } = given;
  if (namespace === undefined) command.error('error: --namespace is needed');
  const withinMs = timeout * 1_000;
  const files = filesOf(given);
  const tls = tlsOf(files);
  const context = {
    url: withoutPassword(new URL(url)),
    namespace,
    token: tokenOf(token === undefined ? await tokenFrom(output) : secretOf(token, 'the token')),
    ...files,
  };
  const client = pumphouseOf({ ...context, tls, retry: { withinMs, attemptMs: withinMs } });
  // Any token of the namespace may list one queue, or is refused for its rights: it is one all the same.
  await client.queues.list({ limit: 1 }).catch((error: unknown) => {
    if (!isRightsError(error)) throw error;
  });
  client.close();
  if (admin === undefined) return context;
  const adminUrl = new URL(admin);
  const user = accountOf(account, adminUrl);
  const target = { url: adminUrl, account: user, timeoutMs: withinMs, tls };
  await new AdminClient(target).call({ method: 'GET', path: ['version'] });
  return { ...context, admin: addressOf(adminUrl), ...(user === undefined ? {} : { account: user }) };
}

function withoutPassword({ origin, pathname }: URL): string {
  return `${origin}${pathname}`;
}

function isRightsError(error: unknown): boolean {
  return error instanceof Error && 'status' in error && error.status === 403;
}

/** From the standard input; at a terminal it is typed, and not shown. */
async function tokenFrom({ input, err }: Output): Promise<string> {
  if (input === undefined) return typedSecret(err, 'Token: ');
  return textIn(await input(), 'the token', 'A token has ASCII characters only.');
}

/** `pumphouse logout` */
export function logoutCommand(output: Output): Command {
  return new Command('logout')
    .description('delete what `login` stored')
    .option('--json', 'print the answer as JSON')
    .action((_options: object, command: Command) => {
      const given = givenOptions(command);
      const deleted = deleteContext(contextFile(given.configHome));
      if (given.json === true) output.out(json({ deleted }));
      else output.out(deleted ? 'logged out\n' : 'Nothing was deleted: there is no login.\n');
    });
}
