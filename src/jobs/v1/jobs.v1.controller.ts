import { Controller, Res, UseGuards } from '@nestjs/common';
import { takeOver } from '../../http/request/context-of.js';
import type { FastifyReply } from 'fastify';
import { TokenGuard } from '../../auth/token.guard.js';
import { Describe } from '../../http/describe.js';
import { AckManyAnswer, AckManyFields } from '../dto/settle.v1.js';
import { FAST_ROUTES, Route, V1_NAMESPACE } from '../fast-routes.js';
import { V1FastCalls } from './fast-calls.v1.js';

/** Native API calls for jobs, for requests that come through the router. */
@Controller(V1_NAMESPACE)
@UseGuards(TokenGuard)
export class V1JobsController {
  constructor(private readonly hot: V1FastCalls) {}

  @Route(FAST_ROUTES.v1Acks)
  @Describe({
    id: 'ackJobs',
    about: 'Acknowledges many jobs, independently.',
    details: 'If an entry is invalid, the whole request is refused. Otherwise the results are independent.',
    group: 'Jobs',
    body: AckManyFields,
    answers: { 200: { about: 'The outcome of each.', of: AckManyAnswer } },
    errors: ['queue_not_allowed', 'pool_moving'],
  })
  acks(@Res() reply: FastifyReply): void {
    this.hot.acks(takeOver(reply));
  }
}
