import { Controller, Delete, Get, Inject, Param, Post, Put, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { parseToken, spellToken, tokenHint } from '../auth/credentials.js';
import { type AskedLimit, readLimit, toAskedLimit, toLimit } from './forms.js';
import { TokenAdmin } from './token-admin.service.js';

interface LimitParams {
  readonly namespace: string;
  readonly token: string;
}

/** A limit as `/limits` lists it. */
interface ListedLimit {
  readonly limiter: AskedLimit;
  readonly namespace: string;
  /** In clear, as lmstfy lists it. */
  readonly token: string;
}

/** lmstfy's calls on the limits of tokens. */
@Controller()
export class LimitsController {
  constructor(@Inject(TokenAdmin) private readonly tokens: TokenAdmin) {}

  /** Always from the store: lmstfy's `force_update` has nothing to force. */
  @Get('limits')
  async list(): Promise<ListedLimit[]> {
    const records = await this.tokens.limits();
    return records.flatMap(({ pool, namespace, token, limit }) =>
      limit === null ? [] : [{ limiter: toAskedLimit(limit), namespace, token: spellToken({ pool, token }) }],
    );
  }

  @Get('token/:namespace/:token/limit')
  async get(@Param() { namespace, token }: LimitParams, @Res() reply: FastifyReply): Promise<void> {
    const limit = await this.tokens.limit(namespace, token);
    const json = JSON.stringify(limit && toAskedLimit(limit));
    await reply
      .code(limit ? 200 : 404)
      .type('application/json; charset=utf-8')
      .send(json);
  }

  @Post('token/:namespace/:token/limit')
  async add(
    @Param() params: LimitParams,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.put(params, request, reply, true);
  }

  @Put('token/:namespace/:token/limit')
  async set(
    @Param() params: LimitParams,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.put(params, request, reply, false);
  }

  @Delete('token/:namespace/:token/limit')
  async delete(@Param() { namespace, token }: LimitParams, @Req() request: FastifyRequest): Promise<object> {
    await this.tokens.deleteLimit(request.account, namespace, token);
    return { msg: 'success' };
  }

  /** The first two refusals have bodies of their own in lmstfy; the service knows the others. */
  private async put(
    { namespace, token }: LimitParams,
    { account, body }: FastifyRequest,
    reply: FastifyReply,
    onlyNew: boolean,
  ): Promise<void> {
    const limiter = readLimit(body);
    if (limiter.read === 0 && limiter.write === 0) {
      await reply.code(400).send({ limiter });
      return;
    }
    if (limiter.interval === 0) {
      await reply.code(400).send({ error: 'interval should be > 0' });
      return;
    }
    if (await this.tokens.setLimit(account, { namespace, text: token, onlyNew }, toLimit(limiter))) {
      await reply.code(onlyNew ? 201 : 200).send({ limiter });
      return;
    }
    await reply
      .code(409)
      .send({ error: `throttler token(${tokenHint(parseToken(token).token)}) has already exists` });
  }
}
