import { errorCode, systemClock } from '@tidemark/contracts'
import { afterAll, afterEach, describe, expect } from 'vitest'
import { SimulatedClock } from '../../simulated-clock.ts'
import { CountedCalls } from './counted-engine.ts'
import { messagingDeadLetterFeed } from './dead-letter-feed.ts'
import { messagingDeadLetterSink } from './dead-letter-sink.ts'
import { messagingEntities } from './entities.ts'
import { messagingExpiry } from './expiry.ts'
import { messagingExpiryDecisions } from './expiry-decisions.ts'
import { messagingForwarding } from './forwarding.ts'
import {
  storeClockOf,
  TestedNamespace,
  type MessagingConformance,
  type MessagingStore,
  type OpenNamespace,
} from './fixtures.ts'
import { messagingOutbox } from './outbox.ts'
import { messagingProcesses } from './processes.ts'
import { messagingRefusals } from './refusals.ts'
import { messagingRestarts } from './restarts.ts'
import { messagingScheduling } from './scheduling.ts'
import { messagingSessions } from './sessions.ts'
import { messagingSessionsExpiry } from './sessions-expiry.ts'
import { messagingSettlement } from './settlement.ts'
import { messagingTemporary } from './temporary.ts'
import { messagingTopics } from './topics.ts'
import { messagingTransactions } from './transactions.ts'

interface SharedStore {
  readonly under: MessagingStore
  readonly clock: SimulatedClock
  readonly calls: CountedCalls
}

/**
 * What queues, topics and subscriptions must do, whatever engine is below, as vitest suites. Call it at the top level of
 * a test file. Time is simulated: nothing here waits for a clock.
 *
 * Tests share a store where they can, because an embedded database costs a thread. Each begins without entities.
 */
export function messagingConformance(options: MessagingConformance): void {
  const by = options.driver === undefined ? '' : ` by ${options.driver.name}`
  describe(`messaging: ${options.name}${by}`, () => {
    const stores: MessagingStore[] = []
    const namespaces: TestedNamespace[] = []
    let shared: SharedStore | undefined

    const openStore = async (): Promise<SharedStore> => {
      const calls = new CountedCalls(options.driver?.turns)
      const clock = new SimulatedClock({
        settled: () => calls.settled(),
        // Clients compare the times of locks and tokens with the machine's.
        ...(options.driver && { startWallMs: systemClock.wallMs() }),
      })
      const under = await options.open({ clock: storeClockOf(clock) })
      stores.push(under)
      return { under, clock, calls }
    }
    const openIn = async (
      { under, clock, calls }: SharedStore,
      namespaceOptions: Parameters<OpenNamespace>[0] = {},
    ): Promise<TestedNamespace> => {
      const namespace = await TestedNamespace.open(under, {
        clock,
        calls,
        options: namespaceOptions,
        driver: options.driver,
      })
      namespaces.push(namespace)
      return namespace
    }
    const open: OpenNamespace = async (namespaceOptions) => {
      shared ??= await openStore()
      return openIn(shared, namespaceOptions)
    }
    /** On a store of its own, for a test that closes it or sets the clock back. */
    const openAlone: OpenNamespace = async (namespaceOptions) =>
      openIn(await openStore(), namespaceOptions)

    afterEach(async () => {
      for (const namespace of namespaces.splice(0)) await namespace.close()
    })
    afterAll(async () => {
      const problems: string[] = []
      for (const under of stores.splice(0)) {
        problems.push(...(await problemsOf(under)))
        await under.dispose()
      }
      expect(problems).toEqual([])
    })

    const parts = { open, openAlone, isByClient: options.driver !== undefined }
    messagingExpiry(parts)
    messagingExpiryDecisions(parts)
    messagingSessions(parts)
    messagingSessionsExpiry(parts)
    messagingScheduling(parts)
    messagingSettlement(parts)
    messagingRefusals(parts)
    messagingForwarding(parts)
    messagingTopics(parts)
    messagingTemporary(parts)
    // What follows is about the broker itself.
    if (parts.isByClient) return
    messagingEntities(open)
    messagingDeadLetterFeed(open, openAlone)
    messagingDeadLetterSink(open, openAlone)
    messagingRestarts(openAlone)
    messagingProcesses(open)
    messagingOutbox(open)
    messagingTransactions(open)
  })
}

async function problemsOf({ store }: MessagingStore): Promise<readonly string[]> {
  try {
    return await store.check()
  } catch (error) {
    // Tests that close their store leave nothing to ask.
    if (errorCode(error) === 'ERR_STORE_CLOSED') return []
    throw error
  }
}
