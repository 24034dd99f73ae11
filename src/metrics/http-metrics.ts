import type { Cell, HistogramCell } from './families.js';
import type { Metrics } from './metrics.js';
import { SeriesTable } from './series-table.js';

/** What throttling refused. */
export type ThrottledAction = 'produce' | 'consume';

/** Label of requests that nobody was let in with: their names are free text of strangers, and would be series without bound. */
const NOBODY = '';
/** What may be shown of a token. */
const TOKEN_CHARACTERS = 4;

interface Route {
  readonly latencyMs: HistogramCell;
  readonly codes: Map<number, Cell>;
}

/** Everything of one namespace: by route, and refusals by token and action. */
interface HttpSeries {
  readonly pool: string;
  readonly namespace: string;
  readonly routes: Map<string, Map<string, Route>>;
  readonly refusals: Map<string, Cell>;
}

/** Counts responses. Call `record` once per response, with the route's template and never with the address itself. */
export class HttpMetrics {
  private readonly table: SeriesTable<HttpSeries>;

  constructor(
    private readonly metrics: Metrics,
    maxNamespaces: number,
    clock?: () => number,
  ) {
    this.table = new SeriesTable(
      maxNamespaces,
      {
        create: (pool, namespace) => ({ pool, namespace, routes: new Map(), refusals: new Map() }),
        hide: (series) => this.hide(series),
        show: (series) => this.show(series),
      },
      clock,
    );
  }

  /**
   * One response.
   *
   * @param api the route's template, such as `/api/:namespace/:queue`; `''` when no route matched
   * @param caller the pool and namespace that the token proved; undefined when nobody was let in
   */
  record(
    api: string,
    method: string,
    code: number,
    latencyMs: number,
    caller?: { readonly pool: string; readonly namespace: string },
  ): void {
    const series = this.table.get(caller?.pool ?? NOBODY, caller?.namespace ?? NOBODY, '');
    const route = series.routes.get(api)?.get(method) ?? this.route(series, api, method);
    if (code < 300) route.latencyMs.observe(latencyMs);
    const cell = route.codes.get(code) ?? this.code(series, route, api, method, code);
    cell.value += 1;
  }

  /** One request refused by a limit. Of the token only the first 4 characters are shown. */
  rateLimited(
    caller: { readonly pool: string; readonly namespace: string },
    token: string,
    action: ThrottledAction,
  ): void {
    const series = this.table.get(caller.pool, caller.namespace, '');
    const shown = token.slice(0, TOKEN_CHARACTERS);
    const key = `${action} ${shown}`;
    let cell = series.refusals.get(key);
    if (!cell) {
      const { pool, namespace } = series;
      cell = this.metrics.rateLimit.cell({ pool, namespace, token: shown, action });
      series.refusals.set(key, cell);
    }
    cell.value += 1;
  }

  /** Gives back the labels of namespaces that have gone quiet. */
  sweep(): void {
    this.table.sweep();
  }

  private route({ routes, pool, namespace }: HttpSeries, api: string, method: string): Route {
    const methods = routes.get(api) ?? new Map<string, Route>();
    routes.set(api, methods);
    const latencyMs = this.metrics.httpLatency.cell({ pool, namespace, api, method });
    const route = { latencyMs, codes: new Map<number, Cell>() };
    methods.set(method, route);
    return route;
  }

  private code(
    { pool, namespace }: HttpSeries,
    route: Route,
    api: string,
    method: string,
    code: number,
  ): Cell {
    const cell = this.metrics.httpCodes.cell({ pool, namespace, api, method, code: String(code) });
    route.codes.set(code, cell);
    return cell;
  }

  private hide(series: HttpSeries): void {
    const { httpLatency, httpCodes, rateLimit } = this.metrics;
    for (const { latencyMs, codes } of routesOf(series)) {
      httpLatency.drop(latencyMs);
      for (const cell of codes.values()) httpCodes.drop(cell);
    }
    for (const cell of series.refusals.values()) rateLimit.drop(cell);
  }

  private show(series: HttpSeries): void {
    const { httpLatency, httpCodes, rateLimit } = this.metrics;
    for (const { latencyMs, codes } of routesOf(series)) {
      httpLatency.restore(latencyMs);
      for (const cell of codes.values()) httpCodes.restore(cell);
    }
    for (const cell of series.refusals.values()) rateLimit.restore(cell);
  }
}

function* routesOf({ routes }: HttpSeries): Generator<Route> {
  for (const methods of routes.values()) yield* methods.values();
}
