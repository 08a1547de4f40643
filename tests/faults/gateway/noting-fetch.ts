import type { HttpFetch } from '@tidemark/gateway/client'

/** Tells of requests whose connection failed, which the client may well repeat without a word. */
export function notingFetch(fetch: HttpFetch, onFailure: () => void): HttpFetch {
  return async (url, request) => {
    try {
      return await fetch(url, request)
    } catch (error) {
      if (!request.signal.aborted) onFailure()
      throw error
    }
  }
}
