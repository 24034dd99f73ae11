import { StepSize } from './step-size.js';

describe('the size of a step', () => {
  it('begins with what the action may do on a usual machine', () => {
    expect(new StepSize('cancel')).toMatchObject({ jobs: 50, entries: 200 });
    expect(new StepSize('patch')).toMatchObject({ jobs: 25, entries: 200 });
  });

  it('halves after a long step, down to a smallest one, and grows again after short ones', () => {
    const size = new StepSize('cancel');
    size.took(6);
    expect(size).toMatchObject({ jobs: 25, entries: 100 });
    for (let i = 0; i < 20; i++) size.took(1_000);
    expect(size).toMatchObject({ jobs: 13, entries: 50 });
    size.took(3);
    expect(size).toMatchObject({ jobs: 13, entries: 50 });
    for (let i = 0; i < 20; i++) size.took(1);
    expect(size).toMatchObject({ jobs: 50, entries: 200 });
  });
});
