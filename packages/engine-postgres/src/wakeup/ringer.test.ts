import { StoreUnavailableError } from '@tidemark/contracts'
import { settle, SimulatedClock } from '@tidemark/testing'
import { expect, test } from 'vitest'
import type { Connections } from '../connection/connections.ts'
import { Ringer } from './ringer.ts'

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

test('the first ring goes at once, those of the next 2 ms go together', async () => {
  const { server, clock, ringer } = makeRinger()
  ringer.ring([1])
  await settle()
  expect(server.sent).toEqual(['me:1'])
  ringer.ring([2])
  ringer.ring([3, 2])
  await clock.advance(1)
  expect(server.sent).toHaveLength(1)
  await clock.advance(1)
  expect(server.sent).toEqual(['me:1', 'me:2,3'])
  await clock.advance(10)
  expect(server.sent).toHaveLength(2)
  ringer.ring([4])
  await settle()
  expect(server.sent).toHaveLength(3)
  await ringer.stop()
})

test('a ring for everything leaves the segments out', async () => {
  const { server, clock, ringer } = makeRinger()
  ringer.ring([1])
  await settle()
  ringer.ring([2])
  ringer.ring([])
  await clock.advance(2)
  ringer.ring(Array.from({ length: 1_001 }, (_, index) => index))
  await clock.advance(2)
  expect(server.sent).toEqual(['me:1', 'me:', 'me:'])
  await ringer.stop()
})

test('one ring at a time: a slow server gets what came meanwhile in one', async () => {
  const { server, clock, ringer } = makeRinger()
  const slow = Promise.withResolvers<void>()
  server.answer = () => slow.promise
  ringer.ring([1])
  await settle()
  ringer.ring([2])
  await clock.advance(1_000)
  ringer.ring([3])
  expect(server.sent).toEqual(['me:1'])
  slow.resolve()
  await settle()
  expect(server.sent).toEqual(['me:1', 'me:2,3'])
  await ringer.stop()
})

test('a ring that fails is lost, and the next is sent', async () => {
  const { server, clock, ringer } = makeRinger()
  server.answer = () => Promise.reject(new StoreUnavailableError('away'))
  ringer.ring([1])
  await settle()
  server.answer = () => Promise.resolve()
  await clock.advance(2)
  ringer.ring([2])
  await clock.advance(2)
  expect(server.sent).toEqual(['me:1', 'me:2'])
  await ringer.stop()
})

test('stop sends what was rung and takes no more', async () => {
  const { server, ringer } = makeRinger()
  ringer.ring([1])
  ringer.ring([2])
  await ringer.stop()
  ringer.ring([3])
  await settle()
  expect(server.sent).toEqual(['me:1', 'me:2'])
})
