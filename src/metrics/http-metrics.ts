import { type Cell, type HistogramCell, SeriesTable } from './series.js';
import type { Metrics } from './metrics.js';

/** Operations limited by throttling. */
export type ThrottledAction = 'produce' | 'consume';

/**
 * Label of requests that were not admitted: their names are arbitrary text of clients, and would cause an unlimited
 * number of series.
 */
const NO_NAMESPACE = '';
/** Number of characters of a token that may be shown. */
const TOKEN_CHARACTERS = 4;
/** Series of rejections of a namespace, about; further tokens share a label, as tokens come and go. */
const MOST_REFUSALS = 100;
const OTHER_TOKENS = 'other';

interface Route {
  readonly latencyMs: HistogramCell;
  readonly codes: Map<number, Cell>;
}

/** Everything of one namespace: by route, and rejections by token and action. */
interface HttpSeries {
  readonly pool: string;
  readonly namespace: string;
  readonly routes: Map<string, Map<string, Route>>;
  readonly refusals: Map<string, Cell>;
}

/** Counts responses. Call `record` once per response, with the route's template and never with the URL itself. */
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
        end: (series) => this.end(series),
      },
      clock,
    );
  }

  /**
   * Counts one response.
   *
   * @param api the route's template, such as `/api/:namespace/:queue`; `''` if no route matched
   * @param caller pool and namespace of the token; undefined if the request was not admitted
   */
  record(
    api: string,
    method: string,
    code: number,
    latencyMs: number,
    caller?: { readonly pool: string; readonly namespace: string },
  ): void {
    const series = this.table.get(caller?.pool ?? NO_NAMESPACE, caller?.namespace ?? NO_NAMESPACE, '');
    const route = series.routes.get(api)?.get(method) ?? this.route(series, api, method);
    if (code < 300) route.latencyMs.observe(latencyMs);
    const cell = route.codes.get(code) ?? this.code(route, code);
    cell.value += 1;
  }

  /** Counts one request rejected by a rate limit. Only the first 4 characters of the token are shown. */
  rateLimited(
    caller: { readonly pool: string; readonly namespace: string },
    token: string,
    action: ThrottledAction,
  ): void {
    const series = this.table.get(caller.pool, caller.namespace, '');
    this.refusal(series, token.slice(0, TOKEN_CHARACTERS), action).value += 1;
  }

  /** Releases the labels of idle namespaces. */
  sweep(): void {
    this.table.sweep();
  }

  private route({ routes, pool, namespace }: HttpSeries, api: string, method: string): Route {
    const methods = routes.get(api) ?? new Map<string, Route>();
    routes.set(api, methods);
    const latencyMs = this.metrics.httpDuration.cell({ pool, namespace, api, method });
    const route = { latencyMs, codes: new Map<number, Cell>() };
    methods.set(method, route);
    return route;
  }

  private code({ latencyMs, codes }: Route, code: number): Cell {
    const cell = this.metrics.httpRequests.cell({ ...latencyMs.labels, code: String(code) });
    codes.set(code, cell);
    return cell;
  }

  private refusal({ refusals, pool, namespace }: HttpSeries, token: string, action: string): Cell {
    const own = refusals.get(`${action} ${token}`);
    if (own) return own;
    const shown =
      /* guard: rate-limited-tokens-are-bounded */ refusals.size < MOST_REFUSALS ? token : OTHER_TOKENS;
    const key = `${action} ${shown}`;
    const cell =
      refusals.get(key) ?? this.metrics.httpRateLimited.cell({ pool, namespace, token: shown, action });
    refusals.set(key, cell);
    return cell;
  }

  private end({ routes, refusals }: HttpSeries): void {
    const { httpDuration, httpRequests, httpRateLimited } = this.metrics;
    for (const methods of routes.values()) {
      for (const { latencyMs, codes } of methods.values()) {
        httpDuration.end(latencyMs);
        for (const cell of codes.values()) httpRequests.end(cell);
      }
    }
    for (const cell of refusals.values()) httpRateLimited.end(cell);
  }
}
