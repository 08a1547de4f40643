import { expect, test } from 'vitest'
import { Takeovers } from './takeovers.ts'

test('only ranges that a worker had when it was cut short, and that another one took up, are takeovers', () => {
  const takeovers = new Takeovers()
  // Handed to w2 when it joined: no takeover, although w1 is killed later.
  takeovers.saw({ leaseId: 'a', epoch: 1, worker: 'w1' })
  takeovers.saw({ leaseId: 'a', epoch: 2, worker: 'w2' })
  takeovers.cutShort({ leaseId: 'b', epoch: 1, worker: 'w1' })
  takeovers.cutShort({ leaseId: 'c', epoch: 1, worker: 'w1' })
  expect(takeovers.count).toBe(0)
  takeovers.saw({ leaseId: 'b', epoch: 5, worker: 'w3' })
  takeovers.saw({ leaseId: 'b', epoch: 6, worker: 'w4' })
  takeovers.saw({ leaseId: 'b', epoch: 6, worker: 'w4' })
  expect(takeovers.count).toBe(1)
})
