import { RequestMethod } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import type { ModulesContainer } from '@nestjs/core';
import { CALL, type CallDescription } from '../http/describe.js';

export type Handler = (...parameters: unknown[]) => unknown;

/** A call of a controller. */
export interface Call {
  readonly owner: object;
  readonly name: string;
  readonly handler: Handler;
  readonly description: CallDescription;
}

/** The handlers of all controllers that have a description. */
export function callsOf(modules: ModulesContainer): Call[] {
  const controllersOf = [...modules.values()].flatMap(({ controllers }) =>
    [...controllers.values()].flatMap(({ metatype }) =>
      typeof metatype === 'function' ? [metatype.prototype as Record<string, unknown>] : [],
    ),
  );
  return controllersOf.flatMap((owner) =>
    Object.getOwnPropertyNames(owner).flatMap((name) => {
      const handler = owner[name] as Handler;
      const description = Reflect.getMetadata(CALL, handler) as CallDescription | undefined;
      return description === undefined ? [] : [{ owner, name, handler, description }];
    }),
  );
}

/** The method, in lower case, and the path of a handler, with `{name}` for parameters; null: it has no route. */
export function routeOf(
  owner: object,
  handler: Handler,
): { readonly method: string; readonly path: string } | null {
  const path = Reflect.getMetadata(PATH_METADATA, handler) as string | undefined;
  if (path === undefined) return null;
  const root = (Reflect.getMetadata(PATH_METADATA, owner.constructor) as string | undefined) ?? '';
  const method = RequestMethod[Reflect.getMetadata(METHOD_METADATA, handler) as number] ?? 'GET';
  const whole = `/${root}/${path}`.replaceAll(/\/+/g, '/').replace(/(?<=.)\/$/, '');
  return { method: method.toLowerCase(), path: whole.replaceAll(/:(\w+)/g, '{$1}') };
}
