import type { FuzzRequest } from './fuzz-request.ts'

const LONGEST = 400

/** A request for people, shortened. */
export function describeRequest(request: FuzzRequest): string {
  if (request.kind === 'raw') {
    const { chunks, gapMs, afterwards } = request
    const text = JSON.stringify(Buffer.concat(chunks).toString('latin1'))
    return `raw, ${chunks.length} pieces, ${gapMs} ms between, then ${afterwards}: ${shortened(text)}`
  }
  const { method, path, headers, body, ...others } = request
  return [
    `${method} ${shortened(path)}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${shortened(value)}`),
    ...(Object.keys(others).length > 1 ? [JSON.stringify(others)] : []),
    ...(body === undefined ? [] : [`body: ${shortened(body)}`]),
  ].join('\n    ')
}

function shortened(text: string): string {
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST)}… (${text.length} characters)`
}
