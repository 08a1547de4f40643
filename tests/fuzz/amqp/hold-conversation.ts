import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { CLOSE, RawClient } from './raw-client.ts'
import type { FuzzOutcome } from '../fuzz-outcome.ts'
import type { Conversation } from './conversation.ts'

/** A server that does not close what its client has closed hangs. */
const HANG_MS = 60_000
/** How long a client waits for an answer before it goes on. */
const PATIENCE_MS = 15

/** Says everything, one step after the other. */
export async function holdConversation(
  { steps, afterwards }: Conversation,
  port: number,
): Promise<FuzzOutcome<string>> {
  let client: RawClient
  try {
    client = await RawClient.connect(port)
  } catch (cause) {
    return { kind: 'fault', what: `a connection is refused: ${String(cause)}` }
  }
  await using _ = client
  const { socket } = client
  let hasEnded = false
  const ended = client.ended.then(() => {
    hasEnded = true
  })
  for (const step of steps) {
    if (hasEnded || !socket.writable) break
    socket.write(step)
    await answerOrPatience(client, ended)
  }
  if (afterwards === 'leave') {
    socket.resetAndDestroy()
    return { kind: 'left' }
  }
  socket.end()
  const isOver = await Promise.race([ended.then(() => true), sleep(HANG_MS, false, { ref: false })])
  if (!isOver) return { kind: 'hang', what: 'the server does not close a connection' }
  const last = client.frames.at(-1)
  return { kind: 'answered', status: last?.code === CLOSE ? 'closed' : 'ended' }
}

async function answerOrPatience({ socket }: RawClient, ended: Promise<void>): Promise<void> {
  const patience = new AbortController()
  const data = once(socket, 'data', { signal: patience.signal }).catch(() => undefined)
  const time = sleep(PATIENCE_MS, undefined, { signal: patience.signal }).catch(() => undefined)
  await Promise.race([data, time, ended])
  patience.abort()
}
