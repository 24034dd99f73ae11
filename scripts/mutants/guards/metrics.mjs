const SERVICE = 'src/metrics/metrics.service.spec.ts';

/**
 * Counters: what a series had is not lost when it ends.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const METRICS = [
  {
    name: 'metrics: a counter whose series ends is added to other',
    file: 'src/metrics/series.ts',
    from: 'into.value += cell.value;',
    to: '',
    spec: SERVICE,
    test: 'adds up each family to all that was counted',
  },
  {
    name: 'metrics: a histogram whose series ends is added to other',
    file: 'src/metrics/series.ts',
    from: 'into.add(cell);',
    to: '',
    spec: SERVICE,
    test: 'adds up each family to all that was counted',
  },
];
