import type { ConsumerDeed, ConsumerLine } from './consumption-journal.ts'

/** Clocks are read in different processes; a lock's end is told in whole milliseconds. */
const TOLERANCE_MS = 25

/** What is wrong about one run in which every message was completed, and what happened, to see that it shows something. */
export interface ConsumptionVerdict {
  readonly faults: readonly string[]
  readonly counts: Readonly<Record<ConsumerDeed | 'redelivered', number>>
}

interface TokenLife {
  readonly token: string
  readonly receivedMs: number
  readonly deliveryCount: number
  readonly lockedUntilMs: number
  readonly session: string
  readonly number: number
  readonly deeds: ReadonlyMap<ConsumerDeed, number>
}

export function judgeConsumption(
  sent: ReadonlySet<string>,
  lines: readonly ConsumerLine[],
  { killed }: { readonly killed: number },
): ConsumptionVerdict {
  const counts = {
    received: 0,
    completing: 0,
    completed: 0,
    abandoning: 0,
    abandoned: 0,
    left: 0,
    lost: 0,
    redelivered: 0,
  }
  for (const { deed } of lines) counts[deed]++
  const faults: string[] = []
  const messages = livesByMessage(lines)
  for (const id of sent) if (!messages.has(id)) faults.push(`${id} was received by nobody`)
  for (const [id, lives] of messages) {
    if (!sent.has(id)) faults.push(`${id} was never sent`)
    if (lives.length > 1) counts.redelivered++
    faults.push(...faultsOf(id, lives, killed))
  }
  faults.push(...sessionFaults([...messages.values()].flat()))
  return { faults, counts }
}

function livesByMessage(lines: readonly ConsumerLine[]): Map<string, TokenLife[]> {
  const byToken = new Map<string, ConsumerLine[]>()
  for (const line of lines) {
    const key = `${line.id} ${line.token}`
    const known = byToken.get(key)
    if (known === undefined) byToken.set(key, [line])
    else known.push(line)
  }
  const messages = new Map<string, TokenLife[]>()
  for (const group of byToken.values()) {
    const [first] = group
    if (first === undefined) continue
    const deeds = new Map(group.map(({ deed, atMs }) => [deed, atMs]))
    const life = { ...first, receivedMs: deeds.get('received') ?? first.atMs, deeds }
    messages.set(first.id, [...(messages.get(first.id) ?? []), life])
  }
  for (const lives of messages.values()) {
    // Not by when they were noted: a process may be stopped between a delivery and its note.
    lives.sort((a, b) => a.deliveryCount - b.deliveryCount || a.receivedMs - b.receivedMs)
  }
  return messages
}

function faultsOf(id: string, lives: readonly TokenLife[], killed: number): readonly string[] {
  const faults: string[] = []
  const completed = lives.filter(({ deeds }) => deeds.has('completed'))
  const unsure = lives.filter(({ deeds }) => deeds.has('completing') && !deeds.has('lost'))
  if (completed.length > 1) faults.push(`${id} was completed ${completed.length} times`)
  if (completed.length === 0 && unsure.length === 0) faults.push(`${id} was never completed`)
  for (const [index, life] of lives.entries()) {
    const next = lives[index + 1]
    // Deliveries to processes that died before they noted them count, too.
    if (life.deliveryCount < index || life.deliveryCount > index + killed) {
      faults.push(`${id}: delivery ${index + 1} had deliveryCount ${life.deliveryCount}`)
    }
    if (next === undefined) continue
    if (life.deeds.has('completed')) faults.push(`${id} came back after its completion`)
    const isFree =
      life.session !== '' ||
      life.deeds.has('abandoning') ||
      next.receivedMs >= life.lockedUntilMs - TOLERANCE_MS
    if (!isFree) faults.push(`${id} was under two locks at ${next.receivedMs}`)
  }
  return faults
}

/** A session's messages are completed in the order of their numbers. */
function sessionFaults(lives: readonly TokenLife[]): readonly string[] {
  const faults: string[] = []
  const last = new Map<string, { number: number; atMs: number }>()
  const completed = lives
    .filter(({ session, deeds }) => session !== '' && deeds.has('completed'))
    .toSorted((a, b) => a.number - b.number)
  for (const { session, number, deeds } of completed) {
    const before = last.get(session)
    const beganMs = deeds.get('completing') ?? 0
    const endedMs = deeds.get('completed') ?? 0
    if (before !== undefined && endedMs < before.atMs) {
      faults.push(`session ${session}: ${number} was completed before ${before.number}`)
    }
    last.set(session, { number, atMs: beganMs })
  }
  return faults
}
