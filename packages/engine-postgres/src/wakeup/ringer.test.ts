import { StoreUnavailableError } from '@tidemark/contracts'
import { settle, SimulatedClock } from '@tidemark/testing'
import { expect, test } from 'vitest'
import type { Connections } from '../connection/connections.ts'
import { Ringer } from './ringer.ts'
import type { Touched } from './touched-range.ts'

/** Commits to these ranges of one collection. */
function touched(...numbers: readonly number[]): Touched {
  return { ranges: numbers.map((range) => ({ collection: 1, range, lsn: 5 })), entities: [] }
}

function changed(entity: number, returned?: number): Touched {
  return { ranges: [], entities: [{ entity, returned }] }
}

function committed(lsn: number): Touched {
  return { ranges: [{ collection: 1, range: 0, lsn }], entities: [] }
}

/** Answers as told, and keeps what was sent and when. */
class FakeServer {
  readonly sent: string[] = []
  answer = (): Promise<void> => Promise.resolve()

  readonly connections: Pick<Connections, 'read'> = {
    read: async (_statement, values) => {
      this.sent.push(String(values?.[1]))
      await this.answer()
      return []
    },
  }
}

function makeRinger(): { server: FakeServer; clock: SimulatedClock; ringer: Ringer } {
  const server = new FakeServer()
  const clock = new SimulatedClock()
  const { connections } = server
  return { server, clock, ringer: new Ringer({ connections, channel: 'c', origin: 'me', clock }) }
}

test('what is not urgent waits 10 ms, or for what is', async () => {
  const { server, clock, ringer } = makeRinger()
  ringer.ring(touched(1), { isUrgent: false })
  await clock.advance(5)
  ringer.ring(touched(2), { isUrgent: false })
  await clock.advance(4)
  expect(server.sent).toEqual([])
  await clock.advance(1)
  expect(server.sent).toEqual(['me:1/1/5,1/2/5'])
  await clock.advance(2)
  ringer.ring(touched(3), { isUrgent: false })
  await clock.advance(5)
  ringer.ring(touched(4))
  await settle()
  expect(server.sent).toEqual(['me:1/1/5,1/2/5', 'me:1/3/5,1/4/5'])
  ringer.ring(touched(5), { isUrgent: false })
  await ringer.stop()
  expect(server.sent).toHaveLength(3)
})

test('the first ring goes at once, those of the next 2 ms go together', async () => {
  const { server, clock, ringer } = makeRinger()
  ringer.ring(touched(1))
  await settle()
  expect(server.sent).toEqual(['me:1/1/5'])
  ringer.ring(touched(2))
  ringer.ring(touched(3, 2))
  await clock.advance(1)
  expect(server.sent).toHaveLength(1)
  await clock.advance(1)
  expect(server.sent).toEqual(['me:1/1/5', 'me:1/2/5,1/3/5'])
  await clock.advance(10)
  expect(server.sent).toHaveLength(2)
  ringer.ring(touched(4))
  await settle()
  expect(server.sent).toHaveLength(3)
  await ringer.stop()
})

test('a ring for everything leaves the ranges out', async () => {
  const { server, clock, ringer } = makeRinger()
  ringer.ring(touched(1))
  await settle()
  ringer.ring(touched(2))
  ringer.ring('anything')
  await clock.advance(2)
  ringer.ring(touched(...Array.from({ length: 1_001 }, (_, index) => index)))
  await clock.advance(2)
  expect(server.sent).toEqual(['me:1/1/5', 'me:', 'me:'])
  await ringer.stop()
})

test('one ring at a time: a slow server gets what came meanwhile in one', async () => {
  const { server, clock, ringer } = makeRinger()
  const slow = Promise.withResolvers<void>()
  server.answer = () => slow.promise
  ringer.ring(touched(1))
  await settle()
  ringer.ring(touched(2))
  await clock.advance(1_000)
  ringer.ring(touched(3))
  expect(server.sent).toEqual(['me:1/1/5'])
  slow.resolve()
  await settle()
  expect(server.sent).toEqual(['me:1/1/5', 'me:1/2/5,1/3/5'])
  await ringer.stop()
})

test('a ring that fails is lost, and the next is sent', async () => {
  const { server, clock, ringer } = makeRinger()
  server.answer = () => Promise.reject(new StoreUnavailableError('away'))
  ringer.ring(touched(1))
  await settle()
  server.answer = () => Promise.resolve()
  await clock.advance(2)
  ringer.ring(touched(2))
  await clock.advance(2)
  expect(server.sent).toEqual(['me:1/1/5', 'me:1/2/5'])
  await ringer.stop()
})

test('stop sends what was rung and takes no more', async () => {
  const { server, ringer } = makeRinger()
  ringer.ring(touched(1))
  ringer.ring(touched(2))
  await ringer.stop()
  ringer.ring(touched(3))
  await settle()
  expect(server.sent).toEqual(['me:1/1/5', 'me:1/2/5'])
})

test('of several commits to one range the newest is told', async () => {
  const { server, clock, ringer } = makeRinger()
  ringer.ring(committed(5))
  await settle()
  for (const lsn of [7, 9, 8]) ringer.ring(committed(lsn))
  await clock.advance(2)
  expect(server.sent).toEqual(['me:1/0/5', 'me:1/0/9'])
  await ringer.stop()
})

test('entities with messages go with the ranges, each once', async () => {
  const { server, clock, ringer } = makeRinger()
  ringer.ring(changed(7))
  await settle()
  ringer.ring(changed(8))
  ringer.ring(changed(7, 5))
  ringer.ring(changed(7, 3))
  ringer.ring(changed(7))
  ringer.ring(committed(5))
  ringer.ring(changed(8))
  await clock.advance(2)
  expect(server.sent).toEqual(['me:m7', 'me:1/0/5,m8,m7/3'])
  await ringer.stop()
})
