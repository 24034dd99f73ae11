import { Controller, Inject, Post, UseGuards } from '@nestjs/common';
import { Access } from '../auth/access.js';
import { TokenGuard } from '../auth/token.guard.js';
import { Describe } from '../http/describe.js';
import type { Exchange } from '../http/exchange.js';
import { Incoming } from '../http/incoming.js';
import { AckManyAnswer, AckManyFields } from './dto/settle.v1.js';
import { V1_ACCESS, V1HotCalls } from './hot-calls.v1.js';

/** Jobs on the native API, for what comes over the router. */
@Controller('v1/:namespace')
@UseGuards(TokenGuard)
export class V1JobsController {
  constructor(@Inject(V1HotCalls) private readonly hot: V1HotCalls) {}

  @Post('acks')
  @Access(V1_ACCESS.acks)
  @Describe({
    about: 'Acknowledges many jobs, each for itself.',
    details:
      'Nothing is acknowledged if one of them breaks a rule. What becomes of one changes nothing about the others.',
    group: 'Jobs',
    body: AckManyFields,
    answers: { 200: { about: 'What became of each.', of: AckManyAnswer } },
  })
  acks(@Incoming() exchange: Exchange): void {
    this.hot.acks(exchange);
  }
}
