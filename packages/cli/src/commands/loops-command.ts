import { Command } from 'commander';
import { columns, field, json } from '../print.js';
import type { OpenSession } from '../session.js';

const HEADINGS = ['PID', 'POOL', 'LOOP', 'LAST RUN', 'MS', 'MOVED', 'LATE MS', 'NEXT RUN', 'LAST ERROR'];

/** `pumphouse loops` */
export function loopsCommand(open: OpenSession): Command {
  return new Command('loops')
    .description('list the background loops of each process: last run, next run, last error')
    .action(async (_options: object, command: Command) => {
      const { admin, isJson, out } = open(command);
      const answer = await admin.call({ method: 'GET', path: ['loops'] });
      const loops = field(answer, 'loops');
      const rows = (Array.isArray(loops) ? loops : []).map(rowOf);
      out(isJson ? json(answer) : columns([HEADINGS, ...rows]));
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
