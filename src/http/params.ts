import { createParamDecorator, type ExecutionContext, Injectable, type PipeTransform } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { Config, type LimitsConfig } from '../config/config.js';
import type { FieldsClass } from '../contract/fields/field.js';
import { readQuery } from './request/query-fields.js';
import { type BodyLimit, bulkLimit } from './request/body.js';
import { contextIn } from './request/context-of.js';
import { fieldsIn } from './request/json-body.js';
import type { RequestContext } from './request/request-context.js';

/** What a pipe knows of its parameter: the class, by the metadata of TypeScript. */
interface OfClass {
  readonly metatype?: unknown;
}

/** The longest body of a call, as a number or by the configuration. */
type LimitOf = BodyLimit | ((limits: LimitsConfig) => BodyLimit);

interface BodyOf {
  readonly context: RequestContext;
  readonly limit: LimitOf;
}

/** Reads a body as an object of the parameter's class. */
@Injectable()
export class BodyPipe implements PipeTransform<BodyOf, Promise<object>> {
  constructor(private readonly config: Config) {}

  /** @throws {InputError} naming each invalid field; {QueueError} `body_too_large` */
  transform({ context, limit }: BodyOf, { metatype }: OfClass): Promise<object> {
    const longest = typeof limit === 'function' ? limit(this.config.limits) : limit;
    return fieldsIn(context, longest, metatype as FieldsClass);
  }
}

/** Reads a query as an object of the parameter's class. */
@Injectable()
export class QueryPipe implements PipeTransform<RequestContext, object> {
  /** @throws {InputError} naming each invalid or unknown parameter */
  transform({ query, request: { url = '' } }: RequestContext, { metatype }: OfClass): object {
    return readQuery(metatype as FieldsClass, query, url.slice(url.indexOf('?') + 1));
  }
}

const Body = createParamDecorator((limit: LimitOf, execution: ExecutionContext): BodyOf => {
  return { context: contextIn(execution), limit };
});

const Query = createParamDecorator((_: undefined, execution: ExecutionContext): RequestContext =>
  contextIn(execution),
);

/**
 * The body of a request, read and checked as the class of the parameter. An empty body counts as `{}`. If the client
 * disconnects, or the body is too large, the error is answered and the handler is never called.
 *
 * @param limit by default `limits.max_bulk_bytes`
 */
export const BodyFields = (limit: LimitOf = bulkLimit): ParameterDecorator => Body(limit, BodyPipe);

/** The query of a request, read and checked as the class of the parameter. */
export const QueryFields = (): ParameterDecorator => Query(QueryPipe);

/** A parameter of a path. Nest's own `Param` would add a parameter to the OpenAPI document. */
export const InPath = createParamDecorator((name: string, execution: ExecutionContext): string => {
  const { params } = execution.switchToHttp().getRequest<FastifyRequest>();
  return (params as Readonly<Record<string, string>>)[name] ?? '';
});
