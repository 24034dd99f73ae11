import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import type { Series } from './chart.jsx';

interface Options {
  readonly height: number;
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
}

const LABEL_PX = 56;

/** Makes a chart with the colours of the theme. */
export function makePlot(
  element: HTMLElement,
  { height, series, format }: Options,
  data: uPlot.AlignedData,
): uPlot {
  const style = getComputedStyle(document.documentElement);
  const color = (name: string): string => style.getPropertyValue(name).trim();
  const axis = {
    stroke: color('--dim'),
    grid: { stroke: color('--line'), width: 1 },
    ticks: { stroke: color('--line'), width: 1 },
    font: '11px system-ui, sans-serif',
  };
  return new uPlot(
    {
      ...{ width: Math.max(200, element.clientWidth), height, pxAlign: false },
      legend: { live: true },
      cursor: { points: { size: 5 } },
      scales: { x: { time: true }, y: { range: (_plot, _min, max) => [0, Math.max(max || 0, 0.1) * 1.1] } },
      axes: [
        { ...axis, size: 28 },
        { ...axis, size: LABEL_PX, values: (_plot, values) => values.map((value) => format(value)) },
      ],
      series: [
        { value: '{YYYY}-{MM}-{DD} {HH}:{mm}:{ss}' },
        ...series.map((one) => ({
          ...{ label: one.label, stroke: color(one.color), width: 1.5, spanGaps: false },
          points: { show: false },
          value: (_plot: uPlot, value: number | null) => (value === null ? '–' : format(value)),
        })),
      ],
    },
    data,
    element,
  );
}
