const WIDTH = 120;
const HEIGHT = 22;

type Values = readonly (number | null)[];

const peakOf = (values: Values): number => Math.max(1, ...values.map((value) => value ?? 0));

/** Bars of the jobs done per step, with the failed ones above in red; steps that were not collected are empty. */
export function Spark({ done, failed, label }: { done: Values; failed: Values; label: string }) {
  const peak = peakOf(done.map((value, i) => (value ?? 0) + (failed[i] ?? 0)));
  const step = WIDTH / Math.max(1, done.length);
  const height = (value: number): number => (value === 0 ? 0 : Math.max(1.5, (value / peak) * (HEIGHT - 2)));
  return (
    <svg
      class="spark"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      width={WIDTH}
      height={HEIGHT}
      role="img"
      aria-label={label}
    >
      <line x1="0" x2={WIDTH} y1={HEIGHT - 0.5} y2={HEIGHT - 0.5} class="axis" />
      {done.map((value, i) => {
        const good = height(value ?? 0);
        const bad = height(failed[i] ?? 0);
        const x = i * step + 0.5;
        const width = Math.max(1, step - 1);
        return (
          <g key={i}>
            {good > 0 && <rect x={x} y={HEIGHT - 1 - good} width={width} height={good} class="good" />}
            {bad > 0 && <rect x={x} y={HEIGHT - 1 - good - bad} width={width} height={bad} class="bad" />}
          </g>
        );
      })}
    </svg>
  );
}
