import { describe, expect, test } from 'vitest'
import {
  TRANSITIONS_KEPT,
  type HostSummary,
  type LeaseGroup,
  type LeaseTransition,
} from '@tidemark/contracts'
import { identity, syncOk, type LeaseStoreSuite } from './fixtures.ts'

const AT_MS = 1_767_225_600_000

function summaryOf(host: string, more: Partial<HostSummary> = {}): HostSummary {
  const counts = { changes: 0, batches: 0, changesPerS: 0, errors: 0, deadLetters: 0 }
  return { host, atMs: AT_MS, sinceMs: AT_MS, ...counts, halted: [], ...more }
}

function acquiredBy(host: string, count: number, from = 0): LeaseTransition[] {
  return Array.from({ length: count }, (_, index) => ({
    atMs: AT_MS + from + index,
    host,
    leaseId: '-FF',
    epoch: from + index,
    kind: 'acquired' as const,
  }))
}

export function describeNotes(suite: LeaseStoreSuite): void {
  describe.skipIf(suite.options.notes === false)('notes of hosts', () => {
    test('each handle reads what the hosts told last, and what became of leases, oldest first', async () => {
      const { one, two } = await suite.group()
      expect(await notesOf(two)).toEqual({ summaries: [], transitions: [] })
      for (const host of ['a', 'b']) await syncOk(one, identity(host), 'join')
      const before = await one.read()
      const lastError = { atMs: AT_MS, leaseId: '-FF', code: 'ERR_NOT_FOUND', message: 'é 😀 "{}' }
      await one.note?.({ summary: summaryOf('a'), transitions: acquiredBy('a', 2) })
      await two.note?.({
        summary: summaryOf('b', { lastError }),
        transitions: acquiredBy('b', 1, 2),
      })
      const batchMs = { p50: 1.5, p99: 20 }
      const later = summaryOf('a', { changes: 7, batchMs, halted: ['-7F'] })
      await one.note?.({ summary: later, transitions: acquiredBy('a', 1, 3) })
      const { summaries, transitions } = await notesOf(two)
      expect(summaries.toSorted((x, y) => (x.host < y.host ? -1 : 1))).toEqual([
        later,
        summaryOf('b', { lastError }),
      ])
      expect(transitions).toEqual([
        ...acquiredBy('a', 2),
        ...acquiredBy('b', 1, 2),
        ...acquiredBy('a', 1, 3),
      ])
      // No rule depends on them: nothing of the group has changed.
      expect(await two.read()).toEqual(before)
    })

    test('what is told late stands where it happened, and what is told twice stands once', async () => {
      const { one, two } = await suite.group()
      for (const host of ['a', 'b']) await syncOk(one, identity(host), 'join')
      const [first, second] = [acquiredBy('a', 1), acquiredBy('b', 1, 1)]
      await two.note?.({ summary: summaryOf('b'), transitions: second })
      await one.note?.({ summary: summaryOf('a'), transitions: first })
      await one.note?.({ summary: summaryOf('a'), transitions: first })
      expect((await notesOf(one)).transitions).toEqual([...first, ...second])
    })

    test('what many hosts tell at once is kept, each word of it', async () => {
      const { one, two } = await suite.group()
      const hosts = Array.from({ length: 40 }, (_, index) => `host ${index}`)
      for (const host of hosts) await syncOk(one, identity(host), 'join')
      const handles = [one, two]
      const notes = hosts.map(async (host, index) => {
        const note = { summary: summaryOf(host), transitions: acquiredBy(host, 1, index) }
        await handles[index % 2]?.note?.(note)
      })
      await Promise.all(notes)
      const { summaries, transitions } = await notesOf(one)
      expect(summaries.map(({ host }) => host).toSorted()).toEqual(hosts.toSorted())
      expect(transitions.map(({ host }) => host).toSorted()).toEqual(hosts.toSorted())
    })

    test('the number of transitions is bounded: the oldest go', async () => {
      const { one } = await suite.group()
      await syncOk(one, identity('a'), 'join')
      for (let from = 0; from < 2.5 * TRANSITIONS_KEPT; from += TRANSITIONS_KEPT / 2) {
        const transitions = acquiredBy('a', TRANSITIONS_KEPT / 2, from)
        await one.note?.({ summary: summaryOf('a'), transitions })
      }
      const epochs = (await notesOf(one)).transitions.map(({ epoch }) => epoch)
      expect(epochs.length).toBeLessThanOrEqual(TRANSITIONS_KEPT)
      expect(epochs.at(-1)).toBe(2.5 * TRANSITIONS_KEPT - 1)
      expect(epochs).toEqual(epochs.toSorted((x, y) => x - y))
    })

    test('hosts that come and go leave no more than a bounded number of summaries', async () => {
      const { one } = await suite.group()
      for (let index = 0; index < 260; index += 1) {
        const who = identity(`host ${index}`)
        await syncOk(one, who, 'join')
        const atMs = AT_MS + index * 1_000
        await one.note?.({ summary: summaryOf(who.host, { atMs }), transitions: [] })
        await syncOk(one, who, 'leave')
      }
      const { summaries } = await notesOf(one)
      expect(summaries.length).toBeLessThanOrEqual(256)
      expect(summaries.map(({ host }) => host)).toContain('host 259')
    })
  })
}

async function notesOf(group: LeaseGroup): Promise<{
  summaries: readonly HostSummary[]
  transitions: readonly LeaseTransition[]
}> {
  const [summaries, transitions] = await Promise.all([
    group.readSummaries?.(),
    group.readTransitions?.(),
  ])
  if (summaries !== undefined && transitions !== undefined) return { summaries, transitions }
  throw new Error('the lease store under test keeps no notes')
}
