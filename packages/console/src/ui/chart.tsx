import { useEffect, useRef } from 'preact/hooks';
import type uPlot from 'uplot';
import { scheme, theme } from '../lib/theme.js';

export interface Series {
  readonly label: string;
  /** A custom property of the style sheet: `--good`. */
  readonly color: string;
  readonly values: readonly (number | null)[];
}

const HEIGHT = 160;

/** A chart over time. Its library is loaded when the first chart is shown. */
export function Chart(props: {
  readonly title: string;
  readonly fromMs: number;
  readonly stepMs: number;
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
}) {
  const { title, fromMs, stepMs, series, format } = props;
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const isEmpty = series.every(({ values }) => values.every((value) => value === null));

  const length = series[0]?.values.length ?? 0;
  const times = Array.from({ length }, (_, i) => (fromMs + i * stepMs) / 1_000);
  const data = [times, ...series.map(({ values }) => [...values])] as unknown as uPlot.AlignedData;
  const latest = useRef(data);
  latest.current = data;

  useEffect(() => {
    let isGone = false;
    const element = box.current;
    if (element === null || isEmpty) return undefined;
    const observer = new ResizeObserver(() =>
      plot.current?.setSize({ width: element.clientWidth, height: HEIGHT }),
    );
    void import('./plot.js').then(({ makePlot }) => {
      if (isGone) return;
      plot.current = makePlot(element, { height: HEIGHT, series, format }, latest.current);
      observer.observe(element);
    });
    return () => {
      isGone = true;
      observer.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [isEmpty, theme.value, scheme.value, stepMs]);

  useEffect(() => plot.current?.setData(data), [fromMs, props.series]);

  const last = series.map(({ label, values }) => {
    const value = [...values].reverse().find((one) => one !== null);
    return value === undefined || value === null ? `${label}: none` : `${label}: ${format(value)}`;
  });
  return (
    <figure class="chart">
      <figcaption>
        {title}
        {series.map(({ label, color }) => (
          <span key={label} class={`key k${color}`}>
            {label}
          </span>
        ))}
      </figcaption>
      {isEmpty ? (
        <p class="dim nochart">Nothing was collected yet.</p>
      ) : (
        <div ref={box} class="plot" role="img" aria-label={`${title}. Last values: ${last.join(', ')}`} />
      )}
    </figure>
  );
}
