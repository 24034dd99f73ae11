import { SetMetadata } from '@nestjs/common';
import type { ErrorCode } from '../domain/errors.js';
import type { FieldsClass } from '../contract/fields/field.js';
import type { Facts } from '../contract/fields/wire.js';
import type { WithHeaders } from './answer/with-headers.js';

/**
 * Description of a call for the OpenAPI document. Programs read it from there; `Incoming` reads from it which
 * parameters the call has.
 */
export interface CallDescription {
  /** What it does, in camelCase, unique: generated clients have a method of this name. */
  readonly id: string;
  /** What it does, in one line. */
  readonly about: string;
  /** Further details. */
  readonly details?: string;
  /** Heading under which it is listed. */
  readonly group: string;
  /** Its body; one of them if there are several. */
  readonly body?: FieldsClass | readonly FieldsClass[];
  /** Class of its query parameters. */
  readonly query?: FieldsClass;
  readonly headers?: readonly HeaderDescription[];
  /** Answers by status, without errors. */
  readonly answers: Readonly<Record<number, AnswerDescription>>;
  /** Codes of its errors, besides those that follow from its token, its access rules and its body. */
  readonly errors?: readonly ErrorCode[];
  /** True if it needs no token. */
  readonly isOpen?: boolean;
}

export interface HeaderDescription {
  readonly name: string;
  readonly about: string;
}

export interface AnswerDescription {
  readonly about: string;
  /** Its body; one of them if there are several, undefined if it has none. */
  readonly of?: FieldsClass | readonly FieldsClass[];
  /** Default: JSON. */
  readonly type?: string;
  readonly headers?: readonly HeaderDescription[];
}

/** Metadata key of a `CallDescription`. */
export const CALL = Symbol('CallDescription');

/** What a handler returns for the answers of a description: `CallInterceptor` writes it. Nothing: it answers itself. */
type Result<D extends CallDescription> = ResultFor<D['answers'][keyof D['answers']]>;
type ResultFor<A> = A extends { readonly of: FieldsClass<infer T> }
  ? Facts<T> | WithHeaders<Facts<T>>
  : A extends { readonly type: string }
    ? WithHeaders
    : Nothing;
type Nothing = ReturnType<() => void>;
type HandlerOf<R> = (...parameters: never[]) => R | Nothing | Promise<R | Nothing>;

/** Describes a handler's call. A test checks that every call of the native API has a description. */
export function Describe<const D extends CallDescription>(description: D) {
  return <H extends HandlerOf<Result<D>>>(
    owner: object,
    name: string | symbol,
    descriptor: TypedPropertyDescriptor<H>,
  ): void => {
    SetMetadata(CALL, description)(owner, name, descriptor);
  };
}
