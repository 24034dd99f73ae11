import type { FastifyInstance } from 'fastify';
import type { LimitsConfig, ServerConfig } from '../config/config.js';
import { AllowedMethods } from './allowed-methods.js';
import { LmstfyErrors } from './answer/errors.lmstfy.js';
import { V1Errors } from './answer/errors.v1.js';
import type { Drain } from './request/drain.js';
import type { LoadShedder } from './request/load-shedder.js';
import type { RequestObserver, ServerContext } from './request/request-context.js';
import type { Log } from '../domain/log.js';

/** Injection token of the `ServerContext` of an application. */
export const SERVER_CONTEXT = Symbol('ServerContext');

/** Dependencies of a server context. */
export interface ServerContextParts {
  readonly settings: Pick<ServerConfig, 'max_url_bytes'>;
  readonly limits: Pick<LimitsConfig, 'max_json_depth'>;
  readonly log: Log;
  readonly drain: Drain;
  readonly observer: RequestObserver;
  readonly loadShedder: LoadShedder;
}

/** URLs of the native API. */
const NATIVE = /^\/(?:v1(?:\/|\?|$)|push\/ack(?:\?|$))/;

/** Creates the context of a Fastify instance, and decorates the instance with it. Call it before routes are added. */
export function serverContextOf(instance: FastifyInstance, parts: ServerContextParts): ServerContext {
  const { settings, limits, log, drain, observer, loadShedder } = parts;
  const methods = new AllowedMethods();
  instance.addHook('onRoute', ({ url, method }) => methods.add(url, method));
  const lmstfy = new LmstfyErrors(log);
  const v1 = new V1Errors(log, methods);
  const context: ServerContext = {
    drain,
    maxUrlBytes: settings.max_url_bytes,
    maxJsonDepth: limits.max_json_depth,
    errorsOf: (url) => (NATIVE.test(pathOf(url)) ? v1 : lmstfy),
    observer,
    loadShedder,
  };
  instance.decorate('serverContext', context);
  return context;
}

/** Some proxies send the whole URL (RFC 9112, 3.2.2). */
function pathOf(url: string): string {
  return url.startsWith('/')
    ? url
    : /* guard: absolute-form-has-its-errors */ url.replace(/^https?:\/\/[^/?]*/i, '');
}
