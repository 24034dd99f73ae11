import { SetMetadata } from '@nestjs/common';
import type { FieldsClass } from './fields/field.js';

/** What is said of a call in the API's document. Programs read it from there; the call itself reads none of it. */
export interface CallDescription {
  /** What it does, in one line. */
  readonly about: string;
  /** What else there is to know. */
  readonly details?: string;
  /** Under which heading it stands. */
  readonly group: string;
  /** Its body; one of them if there are several. */
  readonly body?: FieldsClass | readonly FieldsClass[];
  /** The class of its query's parameters. */
  readonly query?: FieldsClass;
  readonly headers?: readonly HeaderDescription[];
  /** Answers by status, refusals aside: those are the same for all calls. */
  readonly answers: Readonly<Record<number, AnswerDescription>>;
  /** It needs no token. */
  readonly isOpen?: boolean;
}

export interface HeaderDescription {
  readonly name: string;
  readonly about: string;
}

export interface AnswerDescription {
  readonly about: string;
  /** Its body; one of them if there are several, none if it has none. */
  readonly of?: FieldsClass | readonly FieldsClass[];
  /** Left out: JSON. */
  readonly type?: string;
}

/** The metadata key of a `CallDescription`. */
export const CALL = Symbol('CallDescription');

/** Describes a handler's call. Every call of the native API has one: a test holds it. */
export const Describe = (description: CallDescription): MethodDecorator => SetMetadata(CALL, description);
