import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { CampaignProcess } from '../../campaign/campaign-process.ts'
import { generator } from '../lane.ts'
import { lookEverywhere, type MessagePlaces } from '../messaging/look-everywhere.ts'
import { readMessageJournal, type JournalLine } from '../messaging/message-journal.ts'
import { MessageLedger, SessionOrder, type FoundMessage } from '../messaging/message-ledger.ts'
import { createEntities, openMessagingStore, PLACES, WORK } from '../messaging/messaging-store.ts'
import type { StorePlace } from '../store-place.ts'
import { CameAgain } from './came-again.ts'
import type { ClientsMessage, ClientsTask, FrontMessage, FrontTask } from './messages.ts'
import { createPatientQueue, PATIENT } from './patient-queue.ts'

export interface AmqpRunResult {
  readonly lost: number
  readonly twice: number
  /** Gaps in numbers, sessions out of order, contradictions between rows. */
  readonly faults: number
  readonly summary: string
}

const MIN_WORKING_MS = 200
const MAX_WORKING_MS = 900
const PATIENCE_MS = 120_000
/** Everything that the clients do has happened in a round before its server is killed. */
const REMOVED_FROM = [WORK, 'carts', 'later', 'news/all', 'news/odd']

/**
 * Kills the server of eight official clients with SIGKILL, over and over on one folder and port, and looks where every message
 * is. The clients are never killed: they connect again by themselves. Rejects when it shows nothing.
 */
export async function runAmqp({
  folder,
  seed,
  rounds,
  report,
}: {
  readonly folder: string
  readonly seed: number
  readonly rounds: number
  readonly report: (line: string) => void
}): Promise<AmqpRunResult> {
  report('8 clients')
  await using run = await AmqpRun.start(folder, seed)
  const chance = generator(seed * 7_919)
  let [acknowledged, lost, twice, faults, inDoubt] = [0, 0, 0, 0, 0]
  for (let round = 0; round < rounds; round++) {
    const result = await run.killOnce(MIN_WORKING_MS + chance() * (MAX_WORKING_MS - MIN_WORKING_MS))
    acknowledged += result.acknowledged
    inDoubt += result.inDoubt
    lost += result.lost.length
    twice += result.twice.length
    faults += result.faults.length
    report(`round ${round + 1}: ${result.acknowledged} acknowledged, ${result.inDoubt} in doubt`)
    for (const fault of [...result.lost, ...result.twice, ...result.faults]) report(`  ${fault}`)
  }
  const last = await run.finish()
  lost += last.lost.length
  twice += last.twice.length
  for (const fault of [...last.lost, ...last.twice]) report(`  ${fault}`)
  if (inDoubt <= 0) throw new Error('no kill hit a call on its way')
  if (last.retried === 0) throw new Error('no call was retried over a kill')
  report(`${last.acknowledged} acknowledged to a client that retries, ${last.retried} over a kill`)
  const summary =
    `${rounds} kills, ${acknowledged + last.acknowledged} acknowledged, ${inDoubt} in doubt, ` +
    `${lost} lost, ${twice} twice`
  return { lost, twice, faults, summary }
}

interface Verdict {
  readonly acknowledged: number
  readonly lost: readonly string[]
  readonly twice: readonly string[]
}

class AmqpRun implements AsyncDisposable {
  readonly #place: StorePlace
  readonly #journal: string
  readonly #patientJournal: string
  readonly #clients: CampaignProcess<ClientsMessage>
  #front: CampaignProcess<FrontMessage>
  readonly #port: number
  readonly #ledger = new MessageLedger()
  readonly #order = new SessionOrder()
  readonly #cameAgain = new CameAgain()
  #linesRead = 0
  /** Lines of the patient client's journal at each kill. */
  readonly #kills: number[] = []

  private constructor(task: ClientsTask, place: StorePlace, front: CampaignProcess<FrontMessage>) {
    this.#place = place
    this.#journal = task.journal
    this.#patientJournal = task.patientJournal
    this.#front = front
    this.#port = task.port
    this.#clients = new CampaignProcess(new URL('clients.child.ts', import.meta.url), task)
  }

  static async start(folder: string, seed: number): Promise<AmqpRun> {
    const place: StorePlace = { kind: 'folder', folder: join(folder, 'store'), durability: 'sync' }
    {
      await using store = await openMessagingStore(place)
      await createEntities(store)
      await createPatientQueue(store.broker)
    }
    const front = startFront({ place, port: 0 })
    const { port } = await front.receive('listening')
    const [journal, patientJournal] = [join(folder, 'clients.log'), join(folder, 'patient.log')]
    return new AmqpRun({ port, seed, journal, patientJournal }, place, front)
  }

  async killOnce(
    workingMs: number,
  ): Promise<Verdict & { readonly inDoubt: number; readonly faults: readonly string[] }> {
    await this.#go()
    await this.#untilRemoved()
    await sleep(workingMs)
    await this.#kill()
    this.#clients.tell('pause')
    await this.#clients.receive('paused')
    const lines = this.#newLines()
    const acknowledged = acknowledgedOf(lines)
    this.#ledger.read(lines)
    const { found, contradictions } = await lookInto(this.#place, PLACES)
    const { lost, twice } = this.#ledger.judge(found)
    const faults = [
      ...contradictions,
      ...this.#ledger.numberFaults(WORK),
      ...this.#order.faults([lines]),
    ]
    await this.#startAgain()
    return {
      acknowledged,
      inDoubt:
        lines.filter(({ deed }) => deed === 'sending' || deed === 'removing').length - acknowledged,
      lost,
      twice: [...twice, ...this.#cameAgain.faults(lines)],
      faults,
    }
  }

  /** What became of the messages of the client that retries. */
  async finish(): Promise<Verdict & { readonly retried: number }> {
    await this.#untilCalm()
    this.#clients.tell('finish')
    await this.#clients.receive('finished')
    await this.#front.kill()
    const lines = readMessageJournal(this.#patientJournal)
    const ledger = new MessageLedger()
    ledger.read(lines)
    const { found } = await lookInto(this.#place, [[PATIENT, PATIENT]])
    const { lost, twice } = ledger.judge(found)
    const unanswered = (kill: number): boolean => {
      const before = lines.slice(0, kill)
      return (
        before.filter(({ deed }) => deed === 'sending').length >
        before.filter(({ deed }) => deed === 'sent').length
      )
    }
    return {
      acknowledged: acknowledgedOf(lines),
      lost,
      twice: [...twice, ...new CameAgain().faults(lines)],
      retried: this.#kills.filter(unanswered).length,
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#clients.end(), this.#front.end()])
  }

  async #go(): Promise<void> {
    this.#clients.tell('go')
    await this.#clients.receive('going')
  }

  async #kill(): Promise<void> {
    this.#clients.assertAlive()
    await this.#front.kill()
    this.#kills.push(readMessageJournal(this.#patientJournal).length)
  }

  async #startAgain(): Promise<void> {
    this.#front = startFront({ place: this.#place, port: this.#port })
    await this.#front.receive('listening')
  }

  #newLines(): readonly JournalLine[] {
    const lines = readMessageJournal(this.#journal)
    const fresh = lines.slice(this.#linesRead)
    this.#linesRead = lines.length
    return fresh
  }

  /** The clients have connected again, each of them: something of everything was completed. */
  async #untilRemoved(): Promise<void> {
    const already = readMessageJournal(this.#patientJournal).length
    const missing = new Set([...REMOVED_FROM, PATIENT])
    const isDone = (): boolean => {
      const fresh = readMessageJournal(this.#journal).slice(this.#linesRead)
      const patient = readMessageJournal(this.#patientJournal).slice(already)
      for (const { deed, entity } of [...fresh, ...patient]) {
        if (deed === 'removed') missing.delete(entity)
      }
      return missing.size === 0
    }
    await this.#until(() => `nothing was completed in ${[...missing].join(', ')}`, isDone)
  }

  /** The client that retries is connected again. */
  async #untilCalm(): Promise<void> {
    const already = readMessageJournal(this.#patientJournal).length
    await this.#until(
      () => 'the client that retries did not connect again',
      () =>
        readMessageJournal(this.#patientJournal)
          .slice(already)
          .some(({ deed }) => deed === 'removed'),
    )
  }

  async #until(complaint: () => string, isSo: () => boolean): Promise<void> {
    const endMs = performance.now() + PATIENCE_MS
    while (!isSo()) {
      this.#clients.assertAlive()
      this.#front.assertAlive()
      if (performance.now() > endMs) throw new Error(complaint())
      await sleep(20)
    }
  }
}

function startFront(task: FrontTask): CampaignProcess<FrontMessage> {
  return new CampaignProcess(new URL('front.child.ts', import.meta.url), task)
}

function acknowledgedOf(lines: readonly JournalLine[]): number {
  return lines.filter(({ deed }) => deed === 'sent' || deed === 'removed').length
}

async function lookInto(
  place: StorePlace,
  places: MessagePlaces,
): Promise<{
  readonly found: readonly FoundMessage[]
  readonly contradictions: readonly string[]
}> {
  await using store = await openMessagingStore(place)
  return {
    found: await lookEverywhere(store.broker, places),
    contradictions: await store.check(),
  }
}
