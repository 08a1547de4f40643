import { request as httpRequest, type Agent } from 'node:http'
import { signedHeaders } from '../gateway/signed-request.ts'
import { faultOf, type FuzzAnswer } from './check-answer.ts'
import type { FuzzOutcome } from './fuzz-outcome.ts'
import type { SignedFuzz } from './fuzz-request.ts'

export interface SendOptions {
  readonly agent: Agent
  readonly port: number
  readonly timeoutMs: number
}

/** Sends a request over a kept connection and judges the answer. */
export async function sendSigned(request: SignedFuzz, options: SendOptions): Promise<FuzzOutcome> {
  const { continuation, ...asked } = request
  if (continuation === undefined) return judge(await send(asked, options))
  const first = await send({ ...asked, leaveAfterMs: undefined }, options)
  if ('kind' in first) return judge(first)
  const given =
    first.headers[continuation.header === 'if-none-match' ? 'etag' : 'x-ms-continuation']
  if (typeof given !== 'string') return judge(first)
  const at = Math.floor(continuation.at * (given.length + 1))
  const damaged = given.slice(0, at) + continuation.by + given.slice(at + 1)
  const headers = { ...asked.headers, [continuation.header]: damaged }
  return judge(await send({ ...asked, headers }, options))
}

function judge(answer: FuzzAnswer | FuzzOutcome): FuzzOutcome {
  if ('kind' in answer) return answer
  const fault = faultOf(answer)
  return fault === undefined
    ? { kind: 'answered', status: answer.status }
    : { kind: 'fault', what: fault }
}

function send(
  { method, path, headers, body, leaveAfterMs }: SignedFuzz,
  { agent, port, timeoutMs }: SendOptions,
): Promise<FuzzAnswer | FuzzOutcome> {
  const { promise, resolve } = Promise.withResolvers<FuzzAnswer | FuzzOutcome>()
  const all = { ...signedHeaders({ method, path }), ...headers }
  const options = { agent, port, host: '127.0.0.1', method, path, headers: all }
  const outgoing = httpRequest(options, (incoming) => {
    const pieces: Buffer[] = []
    incoming.on('data', (piece: Buffer) => pieces.push(piece))
    incoming.on('error', () => resolve({ kind: 'answered', status: 0 }))
    incoming.on('end', () => {
      const { statusCode: status = 0, headers: answered } = incoming
      resolve({ method, status, headers: answered, body: Buffer.concat(pieces) })
    })
  })
  // The server ends a connection whose request it did not read to its end.
  outgoing.on('error', () => resolve({ kind: 'answered', status: 0 }))
  const patience = setTimeout(() => {
    resolve({ kind: 'hang', what: `no answer within ${timeoutMs} ms` })
    outgoing.destroy()
  }, timeoutMs)
  const leave =
    leaveAfterMs === undefined
      ? undefined
      : setTimeout(() => {
          resolve({ kind: 'left' })
          outgoing.destroy()
        }, leaveAfterMs)
  outgoing.end(body)
  return promise.finally(() => {
    clearTimeout(patience)
    clearTimeout(leave)
  })
}
