import type { Problem } from './views.ts'

/** Headers of every answer that is not a page: nobody keeps it, frames it or guesses its type. */
export const ANSWER_HEADERS: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
}

export function jsonAnswer(
  value: unknown,
  { status = 200, headers = {} }: { status?: number; headers?: Record<string, string> } = {},
): Response {
  return new Response(JSON.stringify(value), {
    status,
    headers: { ...ANSWER_HEADERS, 'content-type': 'application/json; charset=utf-8', ...headers },
  })
}

export function problemAnswer(
  status: number,
  problem: Problem,
  headers: Record<string, string> = {},
): Response {
  return jsonAnswer(problem, { status, headers })
}
