import { HealthIndicatorService } from '@nestjs/terminus';
import { Drain } from '../http/request/drain.js';
import { DRAIN, DrainIndicator } from './indicators.js';

describe('the drain indicator of /readyz', () => {
  it.each([
    ['up', { starting: false, announced: false }],
    ['down', { starting: true, announced: false }],
    ['down', { starting: false, announced: true }],
    ['down', { starting: true, announced: true }],
  ])('is %s for %j', (status, state) => {
    const indicator = new DrainIndicator(Object.assign(new Drain(), state), new HealthIndicatorService());
    expect(indicator.check()[DRAIN].status).toBe(status);
  });
});
