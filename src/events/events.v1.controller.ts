import { Controller, Get, Res, UseGuards } from '@nestjs/common';
import { takeOver } from '../http/request/context-of.js';
import type { FastifyReply } from 'fastify';
import { Access, type AccessRules } from '../auth/access.js';
import { TokenGuard } from '../auth/token.guard.js';
import { Describe } from '../http/describe.js';
import { EventsQuery } from './dto.v1.js';
import { filterOf, placeOf } from './event-filter.js';
import { EventsService } from './events.service.js';

/** A token for some queues sees only their events. */
const EVENTS: AccessRules = { queues: 'body', verb: 'consume' };

/** Events of a namespace as a stream of Server-Sent Events. */
@Controller('v1/:namespace')
@UseGuards(TokenGuard)
export class V1EventsController {
  constructor(private readonly events: EventsService) {}

  @Get('events')
  @Access(EVENTS)
  @Describe({
    id: 'streamEvents',
    about: 'Streams what happens in the namespace, as Server-Sent Events.',
    details: 'Values of one filter are ORed; different filters are ANDed.',
    group: 'Events',
    query: EventsQuery,
    headers: [
      {
        name: 'Last-Event-ID',
        about: 'The id of the last received event: the stream first sends the events after it.',
      },
    ],
    answers: { 200: { about: 'An endless stream of events.', type: 'text/event-stream' } },
    errors: ['queue_not_allowed', 'too_many_streams', 'shutting_down', 'pool_moving'],
  })
  stream(@Res() reply: FastifyReply): Promise<void> {
    const context = takeOver(reply);
    const filter = filterOf(context.request.url ?? '', context.caller.rights);
    const after = placeOf(context.request.headers['last-event-id']);
    return this.events.open(context, { rules: EVENTS, filter, after });
  }
}
