import { Controller, Inject, Post, UseGuards } from '@nestjs/common';
import { Access } from '../auth/access.js';
import { TokenGuard } from '../auth/token.guard.js';
import { Describe } from '../http/describe.js';
import type { Exchange } from '../http/exchange.js';
import { Incoming } from '../http/incoming.js';
import { EndedAnswer } from './dto/job.v1.js';
import {
  PublishedAnswer,
  PublishedManyAnswer,
  PublishFields,
  PublishManyFields,
  PublishQuery,
} from '../http/job-fields/fields.js';
import { PUBLISH_ACCESS, V1Publishing } from './publishing.v1.js';

/** Publishing on the native API. */
@Controller('v1/:namespace/jobs')
@UseGuards(TokenGuard)
export class V1PublishController {
  constructor(@Inject(V1Publishing) private readonly publishing: V1Publishing) {}

  @Post()
  @Access(PUBLISH_ACCESS)
  @Describe({
    about: 'Publishes a job, or many: all or none.',
    details: 'Jobs of a list may be of any queues of the namespace.',
    group: 'Jobs',
    body: [PublishFields, PublishManyFields],
    headers: [
      {
        name: 'Idempotency-Key',
        about: 'The same request with the same key is answered alike, and stores nothing twice.',
      },
      {
        name: 'X-Durability',
        about: 'How safe the jobs must be before the answer: `memory`, `aof` or `replicated:N`.',
      },
      { name: 'X-Job-ID', about: 'The ids that an earlier attempt was refused with.' },
    ],
    query: PublishQuery,
    answers: {
      201: { about: 'What became of each.', of: [PublishedAnswer, PublishedManyAnswer] },
      200: { about: 'With `wait_ms`: how the job ended.', of: EndedAnswer },
      202: {
        about: 'With `wait_ms`: where the job is; it has not ended yet. `Location` says where to ask later.',
        of: EndedAnswer,
      },
    },
  })
  publish(@Incoming() exchange: Exchange): void {
    this.publishing.publish(exchange);
  }
}
