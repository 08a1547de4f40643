import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { logSize } from '../acknowledgements.ts'
import { CampaignProcess } from '../../campaign/campaign-process.ts'
import { type CrashScene, type Writing } from '../crash-scene.ts'
import { generator } from '../lane.ts'
import { safely, type StorePlace } from '../store-place.ts'
import { lookEverywhere } from './look-everywhere.ts'
import { readMessageJournal, type JournalLine } from './message-journal.ts'
import { MessageLedger, SessionOrder, type FoundMessage } from './message-ledger.ts'
import type { WorkerMessage, WorkerTask } from './messages.ts'
import { createEntities, openMessagingStore, PLACES, WORK } from './messaging-store.ts'
import { OutboxLedger } from './outbox-ledger.ts'

export interface MessagingRunResult {
  readonly lost: number
  readonly twice: number
  /** Gaps in numbers, sessions out of order, documents without their messages, contradictions between rows. */
  readonly faults: number
  readonly summary: string
}

const MIN_WORKING_MS = 60
const MAX_WORKING_MS = 500
const BEGIN_LIMIT_MS = 25_000

/**
 * Kills processes that send, also with documents, receive, settle, schedule and let messages expire, over and over on one
 * store, and looks where every message is. Rejects when it shows nothing.
 */
export async function runMessaging({
  folder,
  seed,
  rounds,
  report,
  scene,
}: {
  readonly folder: string
  readonly seed: number
  readonly rounds: number
  readonly report: (line: string) => void
  /** @default a store in the folder */
  readonly scene: CrashScene
}): Promise<MessagingRunResult> {
  let [acknowledged, lost, twice, faults, inDoubt] = [0, 0, 0, 0, 0]
  const ledger = new MessageLedger()
  const order = new SessionOrder()
  const outbox = new OutboxLedger()
  {
    await using store = await openMessagingStore(safely(scene.plan(0).place))
    await createEntities(store)
  }
  for (let round = 0; round < rounds; round++) {
    const journals = await killOnce({ folder, seed, round, scene })
    const lines = journals.flat()
    const count = lines.filter(({ deed }) => deed === 'sent' || deed === 'removed').length
    if (count === 0) throw new Error(`round ${round}: killed before anything was acknowledged`)
    acknowledged += count
    inDoubt += lines.filter(({ deed }) => deed === 'sending' || deed === 'removing').length - count
    ledger.read(lines)
    outbox.read(lines)
    await scene.settle()
    const { found, documents, contradictions } = await lookInto(safely(scene.plan(round).place))
    const verdict = ledger.judge(found)
    const others = [
      ...contradictions,
      ...ledger.numberFaults(WORK),
      ...order.faults(journals),
      ...outbox.faults(documents, found),
    ]
    lost += verdict.lost.length
    twice += verdict.twice.length
    faults += others.length
    report(`round ${round + 1}: ${count} acknowledged, ${found.length} there`)
    for (const fault of [...verdict.lost, ...verdict.twice, ...others]) report(`  ${fault}`)
  }
  if (inDoubt <= 0) throw new Error('no kill hit a call on its way')
  const summary = `${rounds} rounds, ${acknowledged} acknowledged, ${lost} lost, ${twice} twice`
  return { lost, twice, faults, summary }
}

async function killOnce({
  folder,
  seed,
  round,
  scene,
}: {
  readonly folder: string
  readonly seed: number
  readonly round: number
  readonly scene: CrashScene
}): Promise<readonly (readonly JournalLine[])[]> {
  const { place, shares } = scene.plan(round)
  const chance = generator(seed * 7_919 + round)
  const journals = Array.from({ length: shares }, (_, share) =>
    join(folder, `messages-${round}-${share}.log`),
  )
  const workers = journals.map((journal, share) =>
    start({ place: safely(place), seed, round, share, journal }),
  )
  const writing: Writing = {
    chance,
    progress: () => journals.map(logSize),
    assertAlive: () => {
      for (const worker of workers) worker.assertAlive()
    },
  }
  try {
    await Promise.all(workers.map((worker) => worker.receive('working')))
    await untilRemoved(journals, writing)
    await sleep(MIN_WORKING_MS + chance() * (MAX_WORKING_MS - MIN_WORKING_MS))
    await scene.disturb(round, writing)
    for (const worker of workers) await worker.kill()
  } finally {
    await Promise.all(workers.map((worker) => worker.end()))
  }
  return journals.map(readMessageJournal)
}

function start(task: WorkerTask): CampaignProcess<WorkerMessage> {
  return new CampaignProcess(new URL('worker.child.ts', import.meta.url), task)
}

/** On a busy machine the first messages may take longer than the whole time until the kill. */
async function untilRemoved(journals: readonly string[], writing: Writing): Promise<void> {
  const endMs = performance.now() + BEGIN_LIMIT_MS
  const isRemoving = (journal: string): boolean =>
    readMessageJournal(journal).some(({ deed }) => deed === 'removed')
  while (!journals.every(isRemoving)) {
    writing.assertAlive()
    if (performance.now() > endMs) throw new Error('hardly a message was completed')
    await sleep(5)
  }
}

async function lookInto(place: StorePlace): Promise<{
  readonly found: readonly FoundMessage[]
  /** Ids. */
  readonly documents: readonly string[]
  readonly contradictions: readonly string[]
}> {
  await using store = await openMessagingStore(place)
  const found = await lookEverywhere(store.broker, PLACES)
  const documents: string[] = []
  for await (const { changes } of store.orders.changes({ from: 'beginning', follow: false })) {
    documents.push(...changes.map(({ id }) => id))
  }
  return { found, documents, contradictions: await store.check() }
}
