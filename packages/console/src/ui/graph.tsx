import { visible } from '../lib/raw-json.js';

/** A job of the picture. */
export interface GraphJob {
  readonly id: string;
  readonly address: string;
  /** Null: there is no such job any more. */
  readonly state: string | null;
  /** How it failed the job that waits for it. */
  readonly failed?: string | undefined;
}

const WIDTH = 860;
const BOX = 250;
const ROW = 34;
const BOX_HEIGHT = 26;
const CUT = 24;
/** Jobs that a side has room for. */
export const MOST_SHOWN = 8;

const heightOf = (rows: number): number => Math.max(1, rows) * ROW + 6;
const middleOf = (row: number): number => row * ROW + 3 + BOX_HEIGHT / 2;
const short = (id: string): string => (id.length <= CUT ? id : `${id.slice(0, CUT - 1)}…`);

/**
 * The jobs that a job waits for, and those that wait for it: each a link, so that the keyboard reaches it. Each side shows
 * the first ones; the list below the picture has all.
 */
export function DependencyGraph(props: {
  readonly id: string;
  readonly state: string;
  readonly before: readonly GraphJob[];
  readonly after: readonly GraphJob[];
}) {
  const { id, state, before, after } = props;
  const rows = Math.max(rowsOf(before), rowsOf(after));
  const height = heightOf(rows);
  const middle = height / 2;
  const [left, right] = [(WIDTH - BOX) / 2, (WIDTH + BOX) / 2];
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Picture of the dependencies">
      <svg
        class="links"
        viewBox={`0 0 ${WIDTH} ${height}`}
        width={WIDTH}
        height={height}
        role="group"
        aria-label={`${id} waits for ${before.length} jobs, and ${after.length} wait for it`}
      >
        {before.slice(0, MOST_SHOWN).map((_job, i) => (
          <Edge key={i} from={[BOX, middleOf(i)]} to={[left, middle]} />
        ))}
        {after.slice(0, MOST_SHOWN).map((_job, i) => (
          <Edge key={i} from={[right, middle]} to={[WIDTH - BOX, middleOf(i)]} />
        ))}
        <Side jobs={before} x={0} about="It waits for" />
        <Box x={left} y={middle - BOX_HEIGHT / 2} job={{ id, state }} isOwn />
        <Side jobs={after} x={WIDTH - BOX} about="These wait for it" />
      </svg>
    </div>
  );
}

const rowsOf = (jobs: readonly GraphJob[]): number => Math.min(jobs.length, MOST_SHOWN + 1);

function Side({ jobs, x, about }: { jobs: readonly GraphJob[]; x: number; about: string }) {
  if (jobs.length === 0) return null;
  return (
    <g role="group" aria-label={about}>
      {jobs.slice(0, MOST_SHOWN).map((job, i) => (
        <a key={job.id} href={job.address}>
          <Box x={x} y={i * ROW + 3} job={job} />
        </a>
      ))}
      {jobs.length > MOST_SHOWN && (
        <text x={x + 8} y={MOST_SHOWN * ROW + 20} class="under">
          {jobs.length - MOST_SHOWN} more in the list
        </text>
      )}
    </g>
  );
}

function Box(props: {
  readonly x: number;
  readonly y: number;
  readonly job: Pick<GraphJob, 'id' | 'state' | 'failed'>;
  readonly isOwn?: boolean;
}) {
  const { x, y, job, isOwn = false } = props;
  const state = job.failed ?? job.state ?? 'gone';
  return (
    <>
      <rect
        {...{ x: x + 1, y, width: BOX - 2, height: BOX_HEIGHT, rx: 4 }}
        class={`bar b-${job.failed === undefined ? state : 'dead'} ${isOwn ? 'own' : ''}`}
      />
      <text x={x + 8} y={y + 17} class="in">
        {visible(short(job.id))}
      </text>{' '}
      <text x={x + BOX - 8} y={y + 17} class="under right">
        {state}
      </text>
    </>
  );
}

function Edge({ from: [x1, y1], to: [x2, y2] }: { from: [number, number]; to: [number, number] }) {
  const bend = (x1 + x2) / 2;
  return <path class="edge" d={`M ${x1} ${y1} C ${bend} ${y1}, ${bend} ${y2}, ${x2} ${y2}`} />;
}
