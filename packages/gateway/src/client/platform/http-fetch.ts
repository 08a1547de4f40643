/** What is needed of `fetch`; the global one fits. */
export type HttpFetch = (
  url: string,
  request: {
    readonly method: string
    readonly headers: Record<string, string>
    readonly body?: string
    readonly signal: AbortSignal
  },
) => Promise<HttpResponse>

/** What is needed of its answer. */
export interface HttpResponse {
  readonly status: number
  readonly headers: { get(name: string): string | null }
  text(): Promise<string>
}

/** Node's own, which keeps connections alive. */
export const systemFetch: HttpFetch = (url, request) => globalThis.fetch(url, request)

/** An instant as HTTP writes it. */
export function httpDate(epochMs: number): string {
  return new Date(epochMs).toUTCString()
}
