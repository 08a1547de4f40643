import { once } from 'node:events'
import { createServer, request, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Writable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { sendAnswer } from './send-answer.ts'

/** A text of so many UTF-16 units; `mixed` has characters of one to four bytes, `wide` three bytes for each unit. */
function text(units: number, kind: 'ascii' | 'mixed' | 'wide', first: number): string {
  if (kind === 'wide') return '潮'.repeat(units)
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
  'texts that fill a chunk of 256 KiB to the last byte and beyond': [
    ...Array.from({ length: 10 }, () => 8 * 1_092),
    8 * 12_000,
    8 * 1_092,
  ],
  'large texts between small ones': Array.from({ length: 24 }, (_, n) =>
    n % 2 === 0 ? 8 : 30_000 * n,
  ),
}

const cases = Object.entries(SIZES).flatMap(([name, sizes]) =>
  (['ascii', 'mixed', 'wide'] as const).map((kind) => [name, kind, sizes] as const),
)

/** Serves an answer of these pieces at each path that is a number; what was told of each comes in order of the ends. */
async function serving(answers: readonly (readonly string[])[]) {
  const sent: number[] = []
  const server = createServer((incoming, outgoing) => {
    const body = answers[Number(incoming.url?.slice(1))] ?? []
    const { signal } = new AbortController()
    sendAnswer(outgoing, { status: 200, headers: {}, body }, { headers: {}, signal }).then(
      (bytes) => sent.push(bytes),
      (error: unknown) => outgoing.destroy(error instanceof Error ? error : undefined),
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    sent,
    async get(path: number): Promise<IncomingMessage> {
      const outgoing = request({ port, host: '127.0.0.1', agent: false, path: `/${path}` }).end()
      const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
      return incoming
    },
    [Symbol.asyncDispose]: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

async function slowly(incoming: IncomingMessage): Promise<Buffer> {
  const received: Buffer[] = []
  for await (const piece of incoming) {
    received.push(piece as Buffer)
    await setImmediate()
  }
  return Buffer.concat(received)
}

test.each(cases)('%s arrive as they are, also at a slow reader: %s', async (_, kind, sizes) => {
  const pieces = sizes.map((units, index) => text(units, kind, index))
  await using server = await serving([pieces])
  const incoming = await server.get(0)
  const whole = await slowly(incoming)
  const expected = Buffer.from(pieces.join(''))
  expect(whole.length).toBe(expected.length)
  expect(whole.equals(expected)).toBe(true)
  expect(server.sent).toEqual([expected.length])
  const { 'content-length': length } = incoming.headers
  expect(length).toBe(pieces.join('').length <= 256 * 1024 ? String(expected.length) : undefined)
})

test('answers that are sent at the same time, and readers that leave, do not mix', async () => {
  const answers = Array.from({ length: 24 }, (_, n) =>
    Array.from({ length: 40 + 60 * n }, () => String.fromCodePoint(65 + n).repeat(1_000)),
  )
  await using server = await serving(answers)
  for (let round = 0; round < 3; round++) {
    const read = async (n: number): Promise<void> => {
      const incoming = await server.get(n)
      if (n % 3 === 0) {
        incoming.destroy()
        return
      }
      expect((await slowly(incoming)).toString() === answers[n]?.join('')).toBe(true)
    }
    await Promise.all(answers.map((_, n) => read(n)))
  }
})

/** More chunks at once than are kept, so that every kept one is among them. */
const MANY_CHUNKS = Array.from({ length: 20 }, () => 'x'.repeat(80_000))

test('memory of a write that failed is not used again: the system may still look at it', async () => {
  const memoryOf = async (error: Error | null): Promise<readonly ArrayBufferLike[]> => {
    const memory = new Set<ArrayBufferLike>()
    const sent = Promise.withResolvers<void>()
    const outgoing = Object.assign(
      new Writable({
        highWaterMark: 2 ** 30,
        write: ({ buffer }: Buffer, _, taken) => {
          memory.add(buffer)
          void sent.promise.then(() => taken(error))
        },
      }),
      { writeHead: () => undefined },
    )
    const ended = once(outgoing, error === null ? 'finish' : 'error')
    const answer = { status: 200, headers: {}, body: MANY_CHUNKS }
    const { signal } = new AbortController()
    await sendAnswer(outgoing as never, answer, { headers: {}, signal })
    sent.resolve()
    await ended
    return [...memory]
  }
  const [failed, ...others] = await memoryOf(new Error('EPIPE'))
  expect(failed).toBeDefined()
  expect(others).toEqual([])
  const used = await memoryOf(null)
  expect(used.length).toBe(MANY_CHUNKS.length)
  expect(used.some((memory) => memory === failed)).toBe(false)
})

test('others have their turn between the chunks of an answer that is taken at once', async () => {
  let turns = 0
  let isSent = false
  const count = async (): Promise<void> => {
    for (; !isSent; turns++) await setImmediate()
  }
  const counting = count()
  const outgoing = Object.assign(new Writable({ write: (_chunk, _encoding, taken) => taken() }), {
    writeHead: () => undefined,
  })
  const answer = { status: 200, headers: {}, body: MANY_CHUNKS }
  const { signal } = new AbortController()
  await sendAnswer(outgoing as never, answer, { headers: {}, signal })
  isSent = true
  await counting
  expect(turns).toBeGreaterThan(MANY_CHUNKS.length / 2)
})
