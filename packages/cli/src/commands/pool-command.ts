import { Command } from 'commander';
import { columns, plainJson } from '../print.js';
import type { OpenSession } from '../session.js';

/** `pumphouse pool …` */
export function poolCommand(open: OpenSession): Command {
  return new Command('pool').description('the pools of the server').addCommand(poolsCommand('ls', open));
}

/** `pumphouse pool ls`. @param name the old one is `pools` */
export function poolsCommand(name: string, open: OpenSession): Command {
  return new Command(name)
    .description('list the pools')
    .action(async (_options: object, command: Command) => {
      const { admin, isJson, out } = open(command);
      const pools = await admin.call({ method: 'GET', path: ['pools'] });
      out(
        isJson
          ? plainJson(pools)
          : columns((Array.isArray(pools) ? pools : []).map((pool) => [String(pool)])),
      );
    });
}
