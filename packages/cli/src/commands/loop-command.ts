import { Command } from 'commander';
import { field, plainJson, table } from '../print.js';
import type { OpenSession } from '../session.js';

const HEADINGS = ['PID', 'POOL', 'LOOP', 'LAST RUN', 'MS', 'MOVED', 'LATE MS', 'NEXT RUN', 'LAST ERROR'];

/** `pumphouse loop …` */
export function loopCommand(open: OpenSession): Command {
  return new Command('loop')
    .description('the background loops of each process')
    .addCommand(loopsCommand('ls', open));
}

/** `pumphouse loop ls`. @param name the old one is `loops` */
export function loopsCommand(name: string, open: OpenSession): Command {
  return new Command(name)
    .description('list the loops: last run, next run, last error')
    .action(async (_options: object, command: Command) => {
      const session = open(command);
      const answer = await session.admin.call({ method: 'GET', path: ['loops'] });
      const loops = field(answer, 'loops');
      const rows = (Array.isArray(loops) ? loops : []).map(rowOf);
      session.out(session.isJson ? plainJson(answer) : table(session, HEADINGS, rows));
    });
}

function rowOf(loop: unknown): string[] {
  const text = (name: string): string => {
    const value = field(loop, name) ?? '-';
    return typeof value === 'string' ? value : JSON.stringify(value);
  };
  const isFine = text('last_error') === '-';
  return [
    ...[text('pid'), text('pool'), text('name'), text('last_run_at'), text('duration_ms'), text('moved')],
    ...[text('lag_ms'), text('next_run_at'), isFine ? '-' : `${text('last_error_at')} ${text('last_error')}`],
  ];
}
