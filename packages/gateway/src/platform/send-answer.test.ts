import { once } from 'node:events'
import { createServer, request, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { sendAnswer } from './send-answer.ts'

/** A text of so many UTF-16 units; `mixed` has characters of one to four bytes. */
function text(units: number, kind: 'ascii' | 'mixed', first: number): string {
  const unit = kind === 'ascii' ? 'abcdefgh' : 'aü€😀bcd'
  const start = first % 4
  const shifted = kind === 'ascii' ? unit.slice(start) + unit.slice(0, start) : unit
  return shifted
    .repeat(Math.ceil(units / 8))
    .slice(0, units - (units % 8) + (units % 8 > 4 ? 3 : 0))
}

const SIZES: Readonly<Record<string, readonly number[]>> = {
  nothing: [],
  'a small text': [1, 5, 3_000],
  'a page of small texts': Array.from({ length: 150 }, (_, n) => 900 + n),
  'large texts that say how long they are': [8, 100_000, 16, 100_000, 24],
  'many pages of small texts': Array.from({ length: 3_000 }, (_, n) => (n * 37) % 1_500),
  'large texts between small ones': Array.from({ length: 24 }, (_, n) =>
    n % 2 === 0 ? 8 : 30_000 * n,
  ),
}

const cases = Object.entries(SIZES).flatMap(([name, sizes]) =>
  (['ascii', 'mixed'] as const).map((kind) => [name, kind, sizes] as const),
)

test.each(cases)('%s arrive as they are, also at a slow reader: %s', async (_, kind, sizes) => {
  const pieces = sizes.map((units, index) => text(units, kind, index))
  const told = Promise.withResolvers<number>()
  const server = createServer((_incoming, outgoing) => {
    const { signal } = new AbortController()
    const answer = { status: 200, headers: {}, body: pieces }
    sendAnswer(outgoing, answer, { headers: {}, signal }).then(told.resolve, told.reject)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    const { port } = server.address() as AddressInfo
    const outgoing = request({ port, host: '127.0.0.1', agent: false }).end()
    const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
    const received: Buffer[] = []
    for await (const piece of incoming) {
      received.push(piece as Buffer)
      await setImmediate()
    }
    const whole = Buffer.concat(received)
    const expected = Buffer.from(pieces.join(''))
    expect(whole.length).toBe(expected.length)
    expect(whole.equals(expected)).toBe(true)
    expect(await told.promise).toBe(expected.length)
    const { 'content-length': length } = incoming.headers
    expect(length).toBe(pieces.join('').length <= 256 * 1024 ? String(expected.length) : undefined)
  } finally {
    server.close()
  }
})
