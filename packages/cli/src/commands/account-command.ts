import { Command } from 'commander';
import { hashPassword } from '#src/domain/password-hash';
import { Unreachable } from '../admin-client.js';
import { textIn, typedSecret } from '../input.js';
import { json, type Output } from '../print.js';

const MIN_LENGTH = 8;

/** `pumphouse account …` */
export function accountCommand(output: Output): Command {
  return new Command('account')
    .description('accounts of the admin port')
    .addCommand(hashCommand(output))
    .addHelpText(
      'after',
      `
Examples:
  pumphouse account hash                  # type the password twice
  pumphouse account hash < password.txt

Accounts are in the configuration of the server:
  [admin.accounts.ada]
  password_hash = "scrypt:…"
  role = "operator"                       # viewer, viewer_data, operator or admin
  namespaces = ["shop", "mail-*"]         # left out: all`,
    );
}

function hashCommand(output: Output): Command {
  return new Command('hash')
    .description('hash a password for the configuration; it is typed or read from the standard input')
    .option('--json', 'print the answer as JSON')
    .action(async ({ json: isJson }: { readonly json?: true }) => {
      const hash = await hashPassword(await passwordFrom(output));
      output.out(isJson === true ? json({ password_hash: hash }) : `${hash}\n`);
    });
}

/** @throws {Unreachable} it cannot be read, is too short, or was typed in two ways */
async function passwordFrom({ input, err }: Output): Promise<string> {
  const password = input === undefined ? await typedTwice(err) : fromInput(await input());
  if (password.length < MIN_LENGTH)
    throw new Unreachable(`a password has at least ${String(MIN_LENGTH)} characters`);
  return password;
}

/** Without the end of its line. */
function fromInput(bytes: Buffer): string {
  const password = textIn(bytes, 'the password').replace(/\r?\n$/, '');
  if (/[\r\n]/.test(password)) throw new Unreachable('a password has one line');
  return password;
}

async function typedTwice(err: Output['err']): Promise<string> {
  const password = await typedSecret(err, 'Password: ');
  if ((await typedSecret(err, 'Again: ')) !== password) throw new Unreachable('the two passwords differ');
  return password;
}
