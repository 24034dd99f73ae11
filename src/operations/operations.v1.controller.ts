import { Controller, Get, HttpCode, HttpStatus, Post, UseGuards } from '@nestjs/common';
import { Access } from '../auth/access.js';
import { CurrentCaller } from '../auth/current-caller.js';
import { TokenGuard } from '../auth/token.guard.js';
import { OperationAnswer, OperationFields, OperationsAnswer } from '../contract/operations.js';
import type { Caller } from '../domain/caller.js';
import { WithHeaders } from '../http/answer/with-headers.js';
import { Describe } from '../http/describe.js';
import { BodyFields, InPath, QueryFields } from '../http/params.js';
import { CurrentRequest } from '../http/request/current-request.js';
import { fromCursor, pageFacts, PageQuery } from '../http/request/page-query.js';
import type { RequestContext } from '../http/request/request-context.js';
import { publishOptionsOf } from '../jobs/publish-options.js';
import { OperationsService } from './operations.service.js';

const GROUP = 'Operations';
const ONE = { 200: { about: 'The operation.', of: OperationAnswer } };
const READ = { queues: 'body', verb: 'consume' } as const;

/** Operations on the native API. */
@Controller('v1/:namespace/operations')
@UseGuards(TokenGuard)
export class V1OperationsController {
  constructor(private readonly operations: OperationsService) {}

  @Post()
  @HttpCode(HttpStatus.ACCEPTED)
  @Access({ queues: 'body', verb: 'consume' })
  @Describe({
    id: 'startOperation',
    about: 'Starts an action over all jobs that a filter matches.',
    details:
      'The answer comes before the work is done: `getOperation` shows how far it is. Only jobs that were published before it began, and have not changed since, are acted on. It needs the permissions of the call for one job, and stops if the token loses them.',
    group: GROUP,
    body: OperationFields,
    headers: [
      {
        name: 'Idempotency-Key',
        about: 'The same request with the same key starts one operation, for as long as that is kept.',
      },
    ],
    answers: {
      202: {
        about: 'The operation.',
        of: OperationAnswer,
        headers: [
          {
            name: 'Idempotency-Replayed',
            about: '`true`: an earlier request with the same `Idempotency-Key` started it.',
          },
        ],
      },
    },
    errors: [
      'verb_missing',
      'queue_not_allowed',
      'idempotency_key_reused',
      'too_many_operations',
      'store_full',
      'pool_moving',
    ],
  })
  async start(
    @CurrentCaller() caller: Caller,
    @CurrentRequest() { request }: RequestContext,
    @BodyFields() fields: OperationFields,
  ) {
    const { idempotencyKey } = publishOptionsOf(request) ?? {};
    const { details, isReplayed } = await this.operations.start(caller, fields, idempotencyKey);
    return new WithHeaders(details, isReplayed ? ['Idempotency-Replayed', 'true'] : []);
  }

  @Get()
  @Access(READ)
  @Describe({
    id: 'listOperations',
    about: 'Lists the operations that run, and those that ended within a week, newest first.',
    group: GROUP,
    query: PageQuery,
    answers: { 200: { about: 'A page of them.', of: OperationsAnswer } },
    errors: ['pool_moving'],
  })
  async list(@CurrentCaller() caller: Caller, @QueryFields() { limit, cursor }: PageQuery) {
    const all = await this.operations.list(caller);
    const last = cursor === undefined ? undefined : fromCursor(cursor, (place) => place !== '');
    const rest = last === undefined ? all : all.filter(({ id }) => id < last);
    const items = rest.slice(0, limit);
    return pageFacts(items, rest.length > items.length ? (items.at(-1)?.id ?? null) : null);
  }

  @Get(':id')
  @Access(READ)
  @Describe({
    id: 'getOperation',
    about: 'Shows an operation: how far it is, and what it could not do.',
    group: GROUP,
    answers: ONE,
    errors: ['operation_not_found', 'pool_moving'],
  })
  find(@CurrentCaller() caller: Caller, @InPath('id') id: string) {
    return this.operations.find(caller, id);
  }

  @Post(':id/stop')
  @HttpCode(HttpStatus.OK)
  @Access(READ)
  @Describe({
    id: 'stopOperation',
    about: 'Stops an operation. What it has done stays done.',
    details:
      'Its undo, if that runs, is stopped too; it can go on later. An operation that has ended stays as it is.',
    group: GROUP,
    answers: ONE,
    errors: ['operation_not_found', 'pool_moving'],
  })
  stop(@CurrentCaller() caller: Caller, @InPath('id') id: string) {
    return this.operations.stop(caller, id);
  }

  @Post(':id/undo')
  @HttpCode(HttpStatus.ACCEPTED)
  @Access(READ)
  @Describe({
    id: 'undoOperation',
    about:
      'Undoes an operation that was started with `undo_ms`: the jobs that it has cancelled or deleted come back.',
    details:
      'The answer comes before the work is done: `undo` of `getOperation` shows how far it is, and what cannot come back. A repeated call changes nothing; one that was stopped goes on. It needs the permission `consume`, for the queues of the operation.',
    group: GROUP,
    answers: { 202: { about: 'The operation.', of: OperationAnswer } },
    errors: [
      'operation_not_found',
      'operation_running',
      'undo_gone',
      'queue_not_allowed',
      'too_many_operations',
      'store_full',
      'pool_moving',
    ],
  })
  undo(@CurrentCaller() caller: Caller, @InPath('id') id: string) {
    return this.operations.undo(caller, id);
  }
}
