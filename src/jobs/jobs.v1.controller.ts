import { Controller, Inject, Post, Req, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../auth/access.js';
import { TokenGuard } from '../auth/token.guard.js';
import { exchangeOf } from '../http/exchange-of.js';
import { V1_ACCESS, V1HotCalls } from './hot-calls.v1.js';

/** Jobs on the native API, for what comes over the router. */
@Controller('v1/:namespace')
@UseGuards(TokenGuard)
export class V1JobsController {
  constructor(@Inject(V1HotCalls) private readonly hot: V1HotCalls) {}

  @Post('acks')
  @Access(V1_ACCESS.acks)
  acks(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    this.hot.acks(exchangeOf(request, reply));
  }
}
