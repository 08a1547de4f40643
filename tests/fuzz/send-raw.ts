import { createConnection } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { RawFuzz } from './fuzz-request.ts'
import { faultOf } from './check-answer.ts'
import type { FuzzOutcome } from './fuzz-outcome.ts'
import { parseAnswers } from './parse-answers.ts'
import { signRaw } from './sign-raw.ts'

/** A request that the server holds for incomplete gets no answer; then the client says that nothing more comes. */
const QUIET_MS = 30

/** Sends bytes on a connection of their own. The server has to answer it or to end it, whatever they are. */
export async function sendRaw(
  { chunks, gapMs, afterwards }: RawFuzz,
  { port, timeoutMs }: { readonly port: number; readonly timeoutMs: number },
): Promise<FuzzOutcome> {
  const socket = createConnection({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true })
  const received: Buffer[] = []
  const closed = Promise.withResolvers<void>()
  const answered = Promise.withResolvers<void>()
  socket.on('data', (piece) => {
    received.push(piece)
    answered.resolve()
  })
  socket.on('end', () => socket.end())
  // Its end is all that counts: a server may refuse to read any further.
  socket.on('error', () => {})
  socket.on('close', () => closed.resolve())
  for (const chunk of chunks) {
    if (chunk.length > 0 && socket.writable) socket.write(signRaw(chunk))
    if (gapMs > 0) await sleep(gapMs)
  }
  if (afterwards !== 'stay') {
    if (afterwards === 'reset') socket.resetAndDestroy()
    else socket.destroy()
    await closed.promise
    return { kind: 'left' }
  }
  const quiet = new AbortController()
  await Promise.race([
    closed.promise,
    answered.promise,
    sleep(QUIET_MS, undefined, { signal: quiet.signal }).catch(() => {}),
  ])
  quiet.abort()
  if (socket.writable) socket.end()
  const patience = new AbortController()
  const outcome = await Promise.race([
    closed.promise.then(() => 'closed' as const),
    sleep(timeoutMs, 'hangs' as const, { signal: patience.signal }).catch(() => 'closed' as const),
  ])
  patience.abort()
  if (outcome === 'hangs') {
    socket.destroy()
    return { kind: 'hang', what: `neither answered nor ended within ${timeoutMs} ms` }
  }
  const { answers } = parseAnswers(Buffer.concat(received))
  const fault = answers.map((answer) => faultOf(answer)).find((found) => found !== undefined)
  if (fault !== undefined) return { kind: 'fault', what: fault }
  return { kind: 'answered', status: answers[0]?.status ?? 0 }
}
