/** What came back, as far as it is an answer. */
export interface FuzzAnswer {
  readonly method: string
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Buffer
}

/** What is wrong with an answer; undefined when nothing is. */
export function faultOf({ method, status, headers, body }: FuzzAnswer): string | undefined {
  const text = body.toString('utf8')
  if (status === 500) return `500: ${text.slice(0, 300)}`
  if (status < 100 || status > 599) return `the status ${status}`
  if (method === 'HEAD' || status < 200) return undefined
  if (status === 204 || status === 304) {
    return body.length === 0 ? undefined : `${status} has a body: ${text.slice(0, 100)}`
  }
  if (body.length === 0) return status >= 400 ? `${status} has no body` : undefined
  if (!String(headers['content-type']).startsWith('application/json')) {
    return `${status} says that it is ${String(headers['content-type'])}: ${text.slice(0, 100)}`
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return `${status} is no JSON: ${text.slice(0, 300)}`
  }
  if (status < 400) return undefined
  const message: unknown =
    typeof value === 'object' && value !== null ? Reflect.get(value, 'message') : undefined
  return typeof message === 'string' && message !== ''
    ? undefined
    : `${status} has no message: ${text.slice(0, 300)}`
}
