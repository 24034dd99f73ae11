/* Operations: their actions, their form, and their lines. */

/** The actions of operations, and what they do. */
export const ACTIONS = [
  ['respawn', 'Respawn', 'Dead jobs are ready again, with all their tries.'],
  [
    'retry',
    'Retry now',
    'Jobs that wait for their next attempt are ready now; dead ones get one try at least.',
  ],
  ['cancel', 'Cancel', 'Jobs that have not ended are cancelled; workers of leased ones are told.'],
  ['delete', 'Delete', 'Jobs are deleted with their data.'],
  ['move', 'Move', 'Jobs go to another queue.'],
] as const;
export type ActionName = (typeof ACTIONS)[number][0];

/** Which jobs: values of `state` are a list. */
export type Filter = Readonly<Record<string, string | readonly string[]>>;

/** Filters that `pumphouse` has flags for, in the order in which they are written. */
const FLAGS = ['queue', 'state', 'type', 'tag', 'group', 'worker'];
const COMMANDS: Readonly<Record<ActionName, readonly string[]>> = {
  respawn: ['dead', 'respawn'],
  retry: ['job', 'retry'],
  cancel: ['job', 'cancel'],
  delete: ['job', 'rm'],
  move: ['job', 'move'],
};

/** The arguments of `pumphouse` for an operation; null: it has no such command. */
export function argsOf(
  action: ActionName,
  filter: Filter,
  {
    to,
    rate,
    undoMs,
  }: {
    readonly to?: string | undefined;
    readonly rate?: number | undefined;
    readonly undoMs?: number | undefined;
  } = {},
): string[] | null {
  const isDead = action === 'respawn';
  // The command is for dead jobs, which have no worker: with less of the filter it would do more.
  const isForOthers =
    filter.worker !== undefined || (filter.state !== undefined && String(filter.state) !== 'dead');
  if (isDead && isForOthers) return null;
  const given = FLAGS.filter((name) => filter[name] !== undefined && !(isDead && name === 'state'));
  const flags = given.flatMap((name) => [`--${name}`, [filter[name] ?? ''].flat().join(',')]);
  return [
    ...COMMANDS[action],
    ...(to === undefined ? [] : [to]),
    ...(flags.length > 0 ? flags : ['--all']),
    ...(rate === undefined ? [] : ['--rate', String(rate)]),
    ...(undoMs === undefined ? [] : ['--undo', `${String(undoMs / 1_000)}s`]),
    '--yes',
  ];
}

/** The rate of the form; undefined: as fast as it can. @throws {Error} it is wrong */
export function rateOf(fields: ReadonlyMap<string, string>): number | undefined {
  const text = (fields.get('rate') ?? '').trim();
  if (text === '') return undefined;
  if (!/^\d+$/.test(text) || Number(text) < 1 || Number(text) > 10_000)
    throw new Error('The rate must be a whole number from 1 to 10000, or empty.');
  return Number(text);
}

/** The queue of the form; undefined: the action needs none. @throws {Error} it is empty */
export function toOf(fields: ReadonlyMap<string, string>): string | undefined {
  const to = fields.get('to')?.trim();
  if (to === '') throw new Error('Name the queue that they go to.');
  return to;
}
