import { clock, duration, local } from '../lib/format.js';
import type { Segment } from '../lib/timeline.js';

const WIDTH = 860;
const TOP = 26;
const BAR = 22;
const HEIGHT = 74;
/** Width of a segment that took no time, against one of a second. */
const LEAST = 0.8;
/** Segments that a picture has room for. */
const MOST = 24;

/** Short and long times are seen beside each other, so widths grow with the logarithm: the texts have the times. */
const weight = ({ fromMs, untilMs }: Segment): number => LEAST + Math.log10(1 + (untilMs - fromMs) / 100);

/** The life of a job as a row of bars, with an end mark. @param end the state in which it has ended; null = it goes on */
export function TimelinePicture({ segments, end }: { segments: readonly Segment[]; end: string | null }) {
  const shown = segments.slice(-MOST);
  const first = shown[0];
  if (first === undefined) return null;
  const room = WIDTH - (end === null ? 0 : 70);
  const sum = shown.reduce((all, one) => all + weight(one), 0);
  let x = 0;
  const bars = shown.map((segment) => {
    const width = (weight(segment) / sum) * room;
    const bar = { segment, x, width };
    x += width;
    return bar;
  });
  const told = shown.map(
    (one) => `${one.state} for ${duration(one.untilMs - one.fromMs)}${one.hasFailed ? ', failed' : ''}`,
  );
  const label = `Timeline: ${told.join('; ')}${end === null ? '' : `; then ${end}`}.`;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Picture of the timeline">
      <svg
        class="timeline"
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        width={WIDTH}
        height={HEIGHT}
        role="img"
        aria-label={label}
      >
        {bars.map(({ segment, x: left, width }, i) => (
          <g key={i}>
            <rect
              x={left}
              y={TOP}
              width={Math.max(1, width - 2)}
              height={BAR}
              rx="3"
              class={`bar b-${segment.state}`}
            />
            {width > 50 && (
              <text x={left + 6} y={TOP + 15} class="in">
                {segment.state}
                {segment.attempt !== undefined && width > 80 ? ` ${segment.attempt}` : ''}
              </text>
            )}
            {width > 34 && (
              <text x={left + 2} y={TOP + BAR + 15} class="under">
                {duration(segment.untilMs - segment.fromMs)}
                {segment.isOpen ? ' …' : ''}
              </text>
            )}
            {segment.hasFailed && (
              <text x={left + width - 8} y={TOP - 6} class="cross">
                ✕
              </text>
            )}
          </g>
        ))}
        <text x="0" y="12" class="under">
          {local(first.fromMs)}
          {segments.length > MOST ? ` (${segments.length - MOST} before)` : ''}
        </text>
        {end !== null && (
          <text x={room + 4} y={TOP + 15} class={`end e-${end}`}>
            {end === 'done' ? '✓' : end === 'dead' ? '✕' : '⊘'} {end}
          </text>
        )}
        <text x={room} y={HEIGHT - 2} class="under right">
          {clock(shown.at(-1)?.untilMs ?? 0).slice(0, 8)}
        </text>
      </svg>
    </div>
  );
}
