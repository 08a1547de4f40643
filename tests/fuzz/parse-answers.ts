import type { FuzzAnswer } from './check-answer.ts'

export interface ParsedAnswers {
  readonly answers: readonly FuzzAnswer[]
  /** Bytes at the end that are no whole answer. */
  readonly rest: number
}

/** Takes apart what a connection brought: any number of answers after each other. */
export function parseAnswers(bytes: Buffer): ParsedAnswers {
  const answers: FuzzAnswer[] = []
  let from = 0
  for (;;) {
    const end = bytes.indexOf('\r\n\r\n', from)
    if (end < 0) break
    const lines = bytes.subarray(from, end).toString('latin1').split('\r\n')
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(lines[0] ?? '')?.[1] ?? Number.NaN)
    if (Number.isNaN(status)) break
    const headers = Object.fromEntries(
      lines.slice(1).map((line) => {
        const colon = line.indexOf(':')
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
      }),
    )
    const whole = takeBody(bytes, { from: end + 4, status, headers })
    if (whole === undefined) break
    answers.push({ method: '', status, headers, body: whole.body })
    from = whole.next
  }
  return { answers, rest: bytes.length - from }
}

function takeBody(
  bytes: Buffer,
  {
    from,
    status,
    headers,
  }: {
    readonly from: number
    readonly status: number
    readonly headers: Readonly<Record<string, string>>
  },
): { readonly body: Buffer; readonly next: number } | undefined {
  if (status < 200 || status === 204 || status === 304) return { body: Buffer.alloc(0), next: from }
  if (headers['transfer-encoding'] === 'chunked') return takeChunks(bytes, from)
  const next = from + Number(headers['content-length'] ?? bytes.length - from)
  return next > bytes.length ? undefined : { body: bytes.subarray(from, next), next }
}

function takeChunks(bytes: Buffer, start: number): ReturnType<typeof takeBody> {
  const chunks: Buffer[] = []
  for (let from = start; ;) {
    const end = bytes.indexOf('\r\n', from)
    if (end < 0) return undefined
    const size = Number.parseInt(bytes.subarray(from, end).toString('latin1'), 16)
    const next = end + 2 + size + 2
    if (next > bytes.length) return undefined
    if (size === 0) return { body: Buffer.concat(chunks), next }
    chunks.push(bytes.subarray(end + 2, end + 2 + size))
    from = next
  }
}
